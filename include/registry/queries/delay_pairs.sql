-- owner: schedule planning
-- description: Pairs of a departure and a less late arrival. Unbounded; time_made_up adds the constants.

SELECT d.origin
FROM departures d
JOIN arrivals a ON d.origin = a.origin
WHERE a.arr_delay < d.dep_delay
