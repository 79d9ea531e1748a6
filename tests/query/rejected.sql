-- Each query must be refused; the line above it says how: a part of the message, and the column it points to.
-- syntax error @ 29
SELECT S.A FROM S WHERE S.A >
-- unknown stream X @ 15
SELECT 1 FROM X
-- has no column Z @ 8
SELECT S.Z FROM S
-- unknown stream or alias x @ 8
SELECT x.A FROM S
-- the column A is ambiguous @ 8
SELECT A FROM S, U
-- no stream in FROM has a column Q @ 8
SELECT Q FROM S, T
-- the alias S is used twice @ 18
SELECT 1 FROM S, S
-- unknown stream or alias x @ 8
SELECT x.* FROM S
-- no stream in FROM has a column A @ 33
SELECT S.A FROM S JOIN T USING (A)
-- no stream in FROM has a column Z @ 35
SELECT x.A FROM S x JOIN U USING (Z)
-- no stream in FROM has a column Q @ 8
SELECT Q FROM (SELECT A FROM S) x
-- x has no column K @ 8
SELECT x.K FROM (SELECT A FROM S) x
-- the column A is ambiguous @ 8
SELECT A FROM (SELECT A FROM S) x, (SELECT A FROM U) y
-- WITH RECURSIVE is not supported yet: rows follow from one another to any depth @ 1
WITH RECURSIVE x AS (SELECT A FROM S UNION SELECT x.A FROM x JOIN U ON x.A = U.A) SELECT A FROM x
-- MATCH_RECOGNIZE is not supported yet: decided are patterns of two rows or more, with PARTITION BY and ORDER BY @ 17
SELECT * FROM S MATCH_RECOGNIZE (ORDER BY A MEASURES X.A AS a PATTERN (X Y) DEFINE X AS X.A > 1)
-- A is neither in GROUP BY nor within an aggregate @ 8
SELECT A FROM S HAVING A > 1
-- UNION BY NAME is not supported yet @ 17
SELECT A FROM S UNION ALL BY NAME SELECT A FROM U
-- UNION of 1 and 2 columns @ 30
SELECT A FROM S UNION SELECT D, E FROM T
-- column 1 of the UNION is of type int, and here of string @ 32
SELECT A FROM S x UNION SELECT S.K FROM S
-- UNION of 1 and 2 columns @ 34
SELECT A FROM S UNION ALL SELECT * FROM T
-- no stream in FROM has a column Q @ 49
SELECT A FROM S UNION ALL SELECT D FROM T WHERE Q > 1
-- only static relations are queried, so the answer never changes @
SELECT A FROM S UNION ALL SELECT K FROM R
-- A IS TRUE is not supported yet @ 23
SELECT A FROM S WHERE A IS TRUE
-- cannot be compared with a number @
SELECT A FROM S WHERE A < 'x'
-- cannot be compared with S.K (string) @
SELECT A FROM S WHERE A < K
-- cannot be compared with a date @
SELECT A FROM S WHERE DAY > 3
-- 'never' is not a value of type date @
SELECT A FROM S WHERE DAY > 'never'
-- cannot be compared with a timestamp @
SELECT A FROM S WHERE ts > 5
-- 5 cannot be added to a timestamp of type timestamp @
SELECT 1 FROM S x, S y WHERE x.ts > y.ts + 5
-- there is no FROM @ 1
SELECT 1
-- found 2 statements @
SELECT A FROM S; SELECT D FROM T
-- found 0 statements @

-- too many parts @
SELECT a.b.S.A FROM S
-- only static relations are queried, so the answer never changes @
SELECT K FROM R
-- out of range @ 29
SELECT 1 FROM S WHERE S.A < 1e9999999999
-- out of range @ 29
SELECT 1 FROM S WHERE S.X > 1e400
-- larger than any double @
SELECT 1 FROM S WHERE S.X > 9e308
-- BETWEEN SYMMETRIC is not supported yet @
SELECT 1 FROM S, T WHERE S.A BETWEEN SYMMETRIC 2 AND T.D
-- nothing stands between the comma and FROM @ 9
SELECT A, FROM S
-- a stream is missing between FROM and the end @ 10
SELECT A FROM
-- an operand or a condition is missing between WHERE and the end @ 17
SELECT A FROM S WHERE
-- cannot be added to a timestamp @ 44
SELECT 1 FROM S x, S y WHERE x.ts > y.ts + INTERVAL 1e30 DAY
-- ? is not supported yet @ 27
SELECT A FROM S WHERE A > ?
-- EXPLAIN is not supported yet @ 1
EXPLAIN SELECT A FROM S
-- DELETE is not supported yet @ 1
DELETE FROM S
-- nothing is selected @ 1
SELECT FROM S
-- nothing is selected @ 23
SELECT A FROM S UNION SELECT DISTINCT FROM S
-- SELEC is not understood here @ 1
SELEC A FROM S
-- FORM is not understood here @ 10
SELECT A FORM S
-- ADN is not understood here @ 29
SELECT A FROM S WHERE A > 1 ADN A < 3
-- =< is not understood here @ 25
SELECT A FROM S WHERE A =< 3
-- NO is not understood here @ 24
SELECT A FROM S JOIN T NO A = D
-- A IS NUL is not supported yet @ 28
SELECT A FROM S WHERE A IS NUL
-- SELEC does not begin a statement @ 1
SELEC A
-- nothing stands between the comma and , @ 9
SELECT A,, K FROM S
-- nothing stands between SELECT and the comma @ 8
SELECT , A FROM S
-- nothing stands between the dot and FROM @ 11
SELECT S.A. FROM S
-- nothing stands between AS and the end @ 17
SELECT A FROM S AS
-- this ) closes nothing @ 28
SELECT A FROM S WHERE A > 1) AND A < 3
-- the parenthesis that opens here is not closed @ 33
SELECT A FROM S WHERE A > 1 AND (A < 3
-- the string that begins here has no end @ 27
SELECT A FROM S WHERE K = 'a
-- the name that begins here has no end @ 8
SELECT `A FROM S
-- the comment that begins here has no end @ 17
SELECT A FROM S /* x
-- these are no hexadecimal digits @ 8
SELECT X'1G' FROM S
-- 1e is not a number @ 8
SELECT 1e FROM S
-- found 2 statements @ 18
SELECT A FROM S; SELECT D FROM T
-- "A" is in double quotes @ 8
SELECT "A" FROM S
-- "S" is in double quotes @ 15
SELECT A FROM "S"
-- "x y" is in double quotes @ 13
SELECT A AS "x y" FROM S
-- "a" is in double quotes @ 27
SELECT A FROM S WHERE K = "a"
-- r"a" is in double quotes @ 27
SELECT A FROM S WHERE K = r"a"
-- "2026-01-31" is in double quotes @ 34
SELECT A FROM S WHERE DAY > DATE "2026-01-31"
-- "B" is in double quotes @ 33
SELECT A FROM S JOIN T ON S.A = "B"
-- IN compares one value with rows of 2 columns @ 23
SELECT A FROM S WHERE A IN (SELECT D, E FROM T)
-- EXCEPT of 1 and 2 columns @ 17
SELECT A FROM S EXCEPT SELECT D, E FROM T
-- SUM(DISTINCT) has no argument @ 8
SELECT SUM(DISTINCT) FROM S
-- there is no window w @ 11
SELECT A, SUM(A) OVER w FROM S
