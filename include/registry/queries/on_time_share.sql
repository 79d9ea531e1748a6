-- owner: operations
-- description: The share of flights of each carrier that arrive at most a quarter of an hour late, by week. Bounded: two numbers a carrier and open week.

SELECT carrier, date_trunc('WEEK', arrived_at) AS week, COUNT(*) AS flights,
       AVG(CASE WHEN arr_delay <= 15 THEN 1 ELSE 0 END) AS on_time
FROM arrivals
GROUP BY carrier, date_trunc('WEEK', arrived_at)
HAVING COUNT(*) >= 10
