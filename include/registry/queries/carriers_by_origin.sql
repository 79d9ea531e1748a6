-- owner: network planning
-- description: Which carriers fly from which airport. Bounded because both domains are declared.

SELECT DISTINCT origin, carrier
FROM departures
