-- owner: research
-- description: Q4 with constants that decide the comparison outside 20 to 120.
-- source: Arasu et al., Table 1, Q5, duplicates preserved (both projections agree)

SELECT S.A
FROM S, T
WHERE S.B < T.D
  AND S.B < 120
  AND T.D > 20
  AND S.A > 10
  AND S.A < 20
