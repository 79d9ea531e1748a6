-- owner: operations
-- description: Late arrivals at airports above 5,000 feet, by name.

SELECT a.carrier, p.name
FROM arrivals a
JOIN airports p ON a.dest = p.faa
WHERE p.alt > 5000
  AND a.arr_delay > 60
