-- owner: fleet
-- description: Where planes that have arrived leave from later, at any later time. Unbounded: any tail number may come back.
-- cache size: 500

SELECT a.dest, d.origin
FROM arrivals a
JOIN departures d ON a.tailnum = d.tailnum
WHERE a.arrived_at < d.departed_at
