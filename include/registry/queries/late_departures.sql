-- owner: operations
-- description: Every departure two hours late or more.

SELECT carrier, flight, flight_date, tailnum, origin, dest, dep_delay
FROM departures
WHERE dep_delay >= 120
