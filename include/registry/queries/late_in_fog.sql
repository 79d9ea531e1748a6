-- owner: operations
-- description: Departures two hours late, with each observation of dense fog in the hour before them.

SELECT d.carrier, d.flight, d.flight_date, d.origin, d.dep_delay, w.visibility_miles
FROM departures d
JOIN weather w ON d.origin = w.origin
WHERE w.visibility_miles < 0.5
  AND d.dep_delay > 120
  AND w.observed_at <= d.departed_at
  AND d.departed_at <= w.observed_at + INTERVAL 1 HOUR
