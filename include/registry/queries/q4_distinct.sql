-- owner: research
-- description: An inequality join: DISTINCT needs the least B for each A, and the greatest D.
-- source: Arasu et al., Table 1, Q4, duplicates eliminated

SELECT DISTINCT S.A
FROM S, T
WHERE S.B < T.D
  AND S.A > 10
  AND S.A < 20
