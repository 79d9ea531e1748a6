-- owner: customer care
-- description: Cancellations after which no flight of the carrier left for the same place within three hours. Bounded: three hours of each.

SELECT c.carrier, c.flight, c.origin, c.dest, c.scheduled_departure_at
FROM cancellations c
WHERE NOT EXISTS (
  SELECT 1
  FROM departures d
  WHERE d.carrier = c.carrier AND d.origin = c.origin AND d.dest = c.dest
    AND d.departed_at >= c.scheduled_departure_at
    AND d.departed_at <= c.scheduled_departure_at + INTERVAL 3 HOURS
)
