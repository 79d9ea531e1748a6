-- owner: operations
-- description: Hours with less than a mile of visibility, and the wind then.

SELECT origin, local_date, local_hour, wind_knots
FROM weather
WHERE visibility_miles < 1
