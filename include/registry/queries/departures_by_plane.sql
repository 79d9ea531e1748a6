-- owner: fleet
-- description: How often each plane has left. Unbounded: fleets change, so there is a number for every tail number ever seen.

SELECT tailnum, COUNT(*) AS departures
FROM departures
GROUP BY tailnum
