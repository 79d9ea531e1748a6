-- owner: schedule planning
-- description: Carriers that had cancelled a flight at an airport when one left it five hours late.

SELECT DISTINCT c.carrier, d.origin
FROM cancellations c
JOIN departures d ON d.carrier = c.carrier AND d.origin = c.origin
WHERE d.departed_at > c.scheduled_departure_at
  AND d.dep_delay > 300
