-- owner: research
-- description: An equijoin on nine values: one count for each, on each side.
-- source: Arasu et al., Table 1, Q3, duplicates preserved (both projections agree)

SELECT S.A
FROM S, T
WHERE S.A = T.D
  AND S.A > 10
  AND T.D < 20
