-- owner: customer care
-- description: Carriers with an arrival even later than another's ten-hour departure delay at the same airport.

SELECT DISTINCT a.origin, a.carrier, d.carrier AS other
FROM arrivals a
JOIN departures d ON a.origin = d.origin
WHERE a.arr_delay > d.dep_delay
  AND d.dep_delay >= 600
  AND a.carrier <> d.carrier
