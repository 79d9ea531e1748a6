-- What the documentation of this dialect shows, over the streams t and u and the static relation s of the test.
-- Above each text: the verdict of its last query, or what is not decided.
-- bounded
CREATE VIEW v AS SELECT id FROM t
-- bounded
SELECT id, FROM t
-- bounded
FROM t
-- bounded
FROM t SELECT id WHERE id > 1
-- bounded
SELECT * EXCLUDE (k) FROM t
-- bounded
SELECT * REPLACE (id AS k) FROM t
-- refused: the function call COLUMNS('a.*')
SELECT COLUMNS('a.*') FROM t
-- unbounded
SELECT a.id FROM t a ASOF JOIN u b ON a.id = b.id AND a.ts >= b.ts
-- bounded
SELECT a.id FROM t a JOIN u b ON a.id = b.id AND date_diff('minute', a.ts, b.ts) BETWEEN 0 AND 5
-- unbounded
SELECT a.id FROM t a SEMI JOIN u b USING (id)
-- refused: POSITIONAL JOIN
SELECT id FROM t POSITIONAL JOIN u
-- bounded
SELECT id FROM t QUALIFY row_number() OVER () = 1
-- bounded
SELECT {'a': 1}, [1, 2], k[1:2] FROM t
-- refused: the table function READ_PARQUET
SELECT id FROM read_parquet('x.parquet')
-- refused: PIVOT
PIVOT t ON k USING sum(v)
-- refused: SUMMARIZE
SUMMARIZE t
-- refused: TABLESAMPLE
SELECT id FROM t USING SAMPLE 10%
-- unbounded
SELECT id, count(*) FROM t GROUP BY ALL
-- bounded
CREATE TABLE x AS FROM t
-- bounded
SELECT "id" FROM "t"
-- refused: UNION BY NAME
SELECT id FROM t UNION BY NAME SELECT id FROM u
-- unbounded
SELECT list(v ORDER BY ts) FROM t
