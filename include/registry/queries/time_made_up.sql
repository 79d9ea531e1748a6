-- owner: schedule planning
-- description: Mann-Whitney count: pairs in which an arrival is less late than a departure, for small carriers.

SELECT d.origin, d.carrier
FROM departures d
JOIN arrivals a ON d.origin = a.origin AND d.carrier = a.carrier
WHERE a.arr_delay < d.dep_delay
  AND a.arr_delay < 60
  AND d.dep_delay > 0
  AND d.carrier IN ('AS', 'F9', 'HA')
