-- owner: customer care
-- description: Where a flight was cancelled while another left. Unbounded: dest is undeclared; see rebooking.

SELECT DISTINCT c.dest
FROM cancellations c
JOIN departures d ON c.origin = d.origin AND c.dest = d.dest
