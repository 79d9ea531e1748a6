-- owner: research
-- description: Q8 with more comparisons: each case leaves DISTINCT at most one extremum a stream.
-- source: Arasu et al., Table 1, Q9, duplicates preserved

SELECT S.A
FROM S, T
WHERE S.B < T.D
  AND S.C < T.E
  AND S.A > 10
  AND S.A < 20
  AND S.B < T.E
  AND S.C < 100
  AND T.D > 50
