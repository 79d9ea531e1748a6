-- owner: operations
-- description: Late departures in poor visibility, on any day. Unbounded; departures_in_snow fixes the day.

SELECT d.carrier, d.origin
FROM departures d
JOIN weather w ON d.origin = w.origin AND d.scheduled_hour = w.local_hour
  AND d.flight_date = w.local_date
WHERE w.visibility_miles < 1
  AND d.dep_delay > 60
