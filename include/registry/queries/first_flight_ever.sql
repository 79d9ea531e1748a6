-- owner: fleet
-- description: The first flight of each plane. Unbounded: fleets change, so every plane must be remembered.

SELECT tailnum, departed_at, origin, dest
FROM (
  SELECT tailnum, departed_at, origin, dest,
         ROW_NUMBER() OVER (PARTITION BY tailnum ORDER BY departed_at) AS place
  FROM departures
)
WHERE place = 1
