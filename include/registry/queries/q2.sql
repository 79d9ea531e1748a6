-- owner: research
-- description: An equijoin without bounds: every tuple may still find a partner.
-- source: Arasu et al., Table 1, Q2, duplicates preserved (both projections agree)

SELECT S.A
FROM S, T
WHERE S.A = T.D
