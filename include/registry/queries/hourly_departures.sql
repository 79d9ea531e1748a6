-- owner: operations
-- description: Departures of each hour, by airport and carrier. Bounded: only the open hour can still change.

SELECT origin, carrier, window(departed_at, '1 hour').start AS hour, COUNT(*) AS departures
FROM departures
GROUP BY origin, carrier, window(departed_at, '1 hour')
