-- owner: research
-- description: Two comparisons, one of them between bounded values.
-- source: Arasu et al., Table 1, Q7, duplicates preserved

SELECT S.A
FROM S, T
WHERE S.A < T.D
  AND S.B < T.E
  AND S.A > 10
  AND S.A < 20
