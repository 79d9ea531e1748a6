-- owner: customer care
-- description: In the storm of 8 February: carriers that flew from an airport and also cancelled there.

SELECT DISTINCT d.carrier, d.origin
FROM departures d, cancellations c
WHERE d.carrier = c.carrier
  AND d.origin = c.origin
  AND d.flight_date = DATE '2013-02-08'
  AND c.flight_date = DATE '2013-02-08'
