-- owner: schedule planning
-- description: Flights that left late and arrived on time. Unbounded: their dates go on for ever.

SELECT d.carrier, d.origin
FROM departures d
JOIN arrivals a ON d.carrier = a.carrier AND d.flight = a.flight
  AND d.flight_date = a.flight_date AND d.origin = a.origin
WHERE d.dep_delay > 30
  AND a.arr_delay <= 0
