-- owner: research
-- description: Two independent inequalities: no single extremum will do.
-- source: Arasu et al., Table 1, Q8, duplicates preserved (both projections agree)

SELECT S.A
FROM S, T
WHERE S.B < T.D
  AND S.C < T.E
  AND S.A > 10
  AND S.A < 20
