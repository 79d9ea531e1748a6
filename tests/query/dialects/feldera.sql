-- What the documentation of this dialect shows, over the streams t and u and the static relation s of the test.
-- Above each text: the verdict of its last query, or what is not decided.
-- unbounded
CREATE TABLE x (id INT NOT NULL PRIMARY KEY, k VARCHAR, ts TIMESTAMP NOT NULL LATENESS INTERVAL '1' HOUR WATERMARK INTERVAL 1 MINUTE, a ARRAY<INT>, m MAP<VARCHAR, INT>, r ROW(a INT)) WITH ('materialized' = 'true', 'connectors' = '[{}]'); SELECT id FROM x
-- bounded
CREATE TABLE x (id INT NOT NULL, ts TIMESTAMP NOT NULL, FOREIGN KEY (id) REFERENCES y(id)) WITH ('append_only'='true'); CREATE VIEW v AS SELECT id FROM x
-- bounded
CREATE LOCAL VIEW v AS SELECT id FROM t
-- bounded
CREATE MATERIALIZED VIEW v WITH ('connectors'='[]') AS SELECT id FROM t
-- bounded
LATENESS v.ts INTERVAL 1 HOUR; CREATE VIEW v AS SELECT id, ts FROM t
-- refused: a view that reads itself
DECLARE RECURSIVE VIEW r (x INT); CREATE VIEW r AS SELECT id AS x FROM t UNION SELECT x FROM r
-- bounded
CREATE TYPE a AS (x INT); SELECT id FROM t
-- bounded
CREATE FUNCTION f(x INT) RETURNS INT AS x + 1; SELECT id FROM t
-- unbounded
SELECT a.id FROM t a LEFT ASOF JOIN u b MATCH_CONDITION (a.ts >= b.ts) ON a.id = b.id
-- bounded
SELECT id, SUM(v) OVER (PARTITION BY id ORDER BY ts RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) FROM t
-- bounded
SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
-- bounded
SELECT TUMBLE_START(ts, INTERVAL '1' MINUTE), COUNT(*) FROM t GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE)
-- bounded
SELECT a.id FROM t a, u b WHERE a.id = b.id AND TIMESTAMPDIFF(SECOND, a.ts, b.ts) <= 5 AND a.ts <= b.ts
-- bounded
SELECT id FROM t WHERE ts >= NOW() - INTERVAL '1' HOUR
-- bounded
SELECT ARG_MAX(v, ts) FROM t
-- bounded
SELECT id, x FROM t, UNNEST(ARRAY[1,2]) AS y (x)
-- bounded
SELECT "id" FROM "t"
-- bounded
SELECT id FROM t WHERE k IN ('a', 'b') AND v IS NOT NULL
-- unbounded
SELECT id FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY ts) = 1
-- bounded
SELECT MAP['a', 1], CARDINALITY(ARRAY[1]), SAFE_CAST(k AS INT) FROM t
-- bounded
CREATE INDEX i ON v (id); SELECT id FROM t
