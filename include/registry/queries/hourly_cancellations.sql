-- owner: operations
-- description: Cancellations of each hour, by airport and carrier. Bounded: only the open hour can still change.

SELECT origin, carrier, window(scheduled_departure_at, '1 hour').start AS hour, COUNT(*) AS cancellations
FROM cancellations
GROUP BY origin, carrier, window(scheduled_departure_at, '1 hour')
