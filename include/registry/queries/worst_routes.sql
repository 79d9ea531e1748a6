-- owner: network
-- description: The five routes with the greatest mean delay of each day. Bounded: a number for each route of the open day.

SELECT day, origin, dest, mean_delay
FROM (
  SELECT day, origin, dest, mean_delay, ROW_NUMBER() OVER (PARTITION BY day ORDER BY mean_delay DESC) AS place
  FROM (
    SELECT window(arrived_at, '1 day').start AS day, origin, dest, AVG(arr_delay) AS mean_delay
    FROM arrivals
    GROUP BY window(arrived_at, '1 day'), origin, dest
  )
)
WHERE place <= 5
