-- owner: fleet
-- description: The first flight of each plane a day. Bounded: the planes of the open day.

SELECT tailnum, departed_at, origin, dest
FROM (
  SELECT tailnum, departed_at, origin, dest,
         ROW_NUMBER() OVER (PARTITION BY tailnum, window(departed_at, '1 day').start ORDER BY departed_at) AS place
  FROM departures
)
WHERE place = 1
