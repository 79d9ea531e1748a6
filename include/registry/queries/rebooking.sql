-- owner: customer care
-- description: Storm of 8 February: other carriers that still flew where a flight was cancelled. Static airports bound dest.

SELECT DISTINCT c.carrier AS cancelled, d.carrier AS flown, p.name
FROM cancellations c
JOIN airports p ON c.dest = p.faa
JOIN departures d ON d.dest = p.faa
WHERE c.origin = d.origin
  AND c.carrier <> d.carrier
  AND c.flight_date = DATE '2013-02-08'
  AND d.flight_date = DATE '2013-02-08'
