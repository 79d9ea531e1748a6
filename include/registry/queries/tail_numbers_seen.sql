-- owner: fleet
-- description: Every plane that ever left. Unbounded: tail numbers have no declared domain.

SELECT DISTINCT tailnum
FROM departures
