-- owner: research
-- description: A filter on one stream: nothing is stored. DISTINCT has to remember every A seen.
-- source: Arasu et al., Table 1, Q1, duplicates preserved

SELECT A
FROM S
WHERE A > 10
