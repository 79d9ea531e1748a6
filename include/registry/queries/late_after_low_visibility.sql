-- owner: operations
-- description: Carriers with a departure an hour late within an hour of low visibility at the same airport.

SELECT DISTINCT d.carrier
FROM departures d
JOIN weather w ON d.origin = w.origin
WHERE w.visibility_miles < 1
  AND d.dep_delay > 60
  AND w.observed_at <= d.departed_at
  AND d.departed_at <= w.observed_at + INTERVAL 1 HOUR
