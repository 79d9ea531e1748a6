-- owner: operations
-- description: Departures of 14 December scheduled in an hour with less than two miles of visibility.

SELECT d.carrier, d.origin, d.scheduled_hour
FROM departures d
JOIN weather w ON d.origin = w.origin AND d.scheduled_hour = w.local_hour
WHERE d.flight_date = DATE '2013-12-14'
  AND w.local_date = DATE '2013-12-14'
  AND w.visibility_miles < 2
