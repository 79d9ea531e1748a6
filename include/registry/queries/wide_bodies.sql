-- owner: fleet
-- description: Models with 300 seats or more, and who flies them. Bounded by the static register of planes.

SELECT DISTINCT d.carrier, p.manufacturer, p.model
FROM departures d
JOIN planes p ON d.tailnum = p.tailnum
WHERE p.seats >= 300
