-- owner: fleet
-- description: Late arrivals and late departures of the same plane. Unbounded: any tail number may come back.

SELECT a.carrier, d.carrier AS next_carrier
FROM arrivals a
JOIN departures d ON a.tailnum = d.tailnum
WHERE a.arr_delay > 60
  AND d.dep_delay > 60
