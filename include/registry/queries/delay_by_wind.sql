-- owner: safety
-- description: Mean delay of each hour by airport, with the wind that was last observed. Bounded: one observation an airport, and the open hour.

SELECT d.origin, window(d.departed_at, '1 hour').start AS hour, w.wind_knots, AVG(d.dep_delay) AS mean_delay
FROM departures d
ASOF JOIN weather w ON d.origin = w.origin AND w.observed_at <= d.departed_at
GROUP BY d.origin, window(d.departed_at, '1 hour'), w.wind_knots
