-- owner: customer care
-- description: Flights of a carrier to a place within a day after another one of its own came there late. Bounded by the window.
-- cache size: 100

SELECT a.carrier, a.dest, d.origin
FROM arrivals a
JOIN departures d ON a.carrier = d.carrier AND a.dest = d.dest
WHERE a.arr_delay > 15
  AND a.arrived_at < d.departed_at
  AND d.departed_at <= a.arrived_at + INTERVAL '24' HOUR
