-- owner: research
-- description: One column against two of the other stream: DISTINCT needs the greatest B and the least max(D, E).
-- source: Arasu et al., Table 1, Q6, duplicates preserved

SELECT S.A
FROM S, T
WHERE S.B > T.D
  AND S.B > T.E
  AND S.A = 10
