-- What the documentation of this dialect shows, over the streams t and u and the static relation s of the test.
-- Above each text: the verdict of its last query, or what is not decided.
-- bounded
INSERT INTO o SELECT id FROM t
-- bounded
INSERT OVERWRITE o SELECT id FROM t
-- bounded
INSERT INTO o PARTITION (d='x') SELECT id FROM t
-- bounded
INSERT INTO cat.db.o (a, b) SELECT id, k FROM t
-- bounded
EXECUTE STATEMENT SET BEGIN INSERT INTO o SELECT id FROM t; INSERT INTO p SELECT id FROM u; END
-- bounded
BEGIN STATEMENT SET; INSERT INTO o SELECT id FROM t; INSERT INTO p SELECT id FROM u; END
-- bounded
SET 'a.b' = 'c'; SELECT id FROM t
-- bounded
CREATE TABLE x (a INT, b AS a + 1, p AS PROCTIME(), c STRING METADATA FROM 'key' VIRTUAL, r ROW<a INT, b STRING>, m MAP<STRING, INT>, ts TIMESTAMP(3) METADATA, PRIMARY KEY (a) NOT ENFORCED, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) PARTITIONED BY (a) WITH ('connector'='kafka'); SELECT a, ts FROM x
-- bounded
CREATE TABLE x LIKE t; SELECT id FROM t
-- bounded
CREATE TABLE x WITH ('connector'='x') AS SELECT id FROM t
-- bounded
CREATE VIEW v (a) COMMENT 'x' AS SELECT id FROM t
-- bounded
CREATE TEMPORARY VIEW v AS SELECT id FROM t
-- bounded
CREATE FUNCTION f AS 'com.x.F' LANGUAGE JAVA; SELECT id FROM t
-- bounded
CREATE CATALOG c WITH ('type'='x'); USE CATALOG c; SELECT id FROM t
-- bounded
SELECT a.id FROM t AS a JOIN u b ON a.id = b.id AND a.ts BETWEEN b.ts - INTERVAL '4' HOUR AND b.ts
-- bounded
SELECT a.id FROM t a, u b WHERE a.id = b.id AND a.ts <= b.ts + INTERVAL '1' HOUR AND a.ts >= b.ts
-- bounded
SELECT a.id FROM t a, u b WHERE a.id = b.id AND TIMESTAMPDIFF(MINUTE, a.ts, b.ts) BETWEEN 0 AND 5
-- bounded
SELECT a.id FROM t a, u b WHERE a.id = b.id AND a.ts <= TIMESTAMPADD(HOUR, 1, b.ts) AND b.ts <= a.ts
-- bounded
SELECT * FROM t WHERE ts > TIMESTAMP '2020-01-01 00:00:00'
-- bounded
SELECT id, COUNT(*) FROM TABLE(TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '10' MINUTES)) GROUP BY id, window_start, window_end
-- bounded
SELECT * FROM TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '2' MINUTES, INTERVAL '10' MINUTES))
-- refused: a session without GROUP BY
SELECT * FROM TABLE(SESSION(TABLE t PARTITION BY id, DESCRIPTOR(ts), INTERVAL '5' MINUTES))
-- bounded
SELECT window_start FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)
-- unknown
SELECT SUM(v) FROM t GROUP BY GROUPING SETS ((id), ())
-- bounded
SELECT id, w FROM t, LATERAL TABLE(split(k)) AS x(w)
-- bounded
SELECT id, w FROM t LEFT JOIN LATERAL TABLE(split(k)) AS x(w) ON TRUE
-- bounded
SELECT id, e FROM t CROSS JOIN UNNEST(ARRAY[1,2]) AS x (e)
-- bounded
SELECT /*+ LOOKUP('table'='s') */ t.id FROM t JOIN s FOR SYSTEM_TIME AS OF t.ts AS s2 ON t.k = s2.k
-- bounded
SELECT /*+ BROADCAST(s) */ t.id FROM t JOIN s ON t.k = s.k
-- bounded
SELECT id FROM t WHERE k IS NOT DISTINCT FROM 'a'
-- unbounded
SELECT id FROM t WHERE id IN (SELECT id FROM u)
-- unbounded
SELECT DISTINCT id FROM t
-- bounded
SELECT id FROM t ORDER BY ts LIMIT 10
-- bounded
SELECT id FROM t FETCH FIRST 5 ROWS ONLY
-- unbounded
SELECT id FROM t EXCEPT SELECT id FROM u
-- unbounded
SELECT id FROM t INTERSECT SELECT id FROM u
-- unbounded
SELECT id, LAST_VALUE(v) OVER (PARTITION BY id ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM t
-- unbounded
SELECT LISTAGG(k, ',') FROM t GROUP BY id HAVING COUNT(*) > 1
-- bounded
SELECT CAST(id AS STRING), id || k, UPPER(k), CASE WHEN v > 1 THEN 'a' ELSE 'b' END, v * 2, JSON_VALUE(k, '$.a') FROM t
-- bounded
SELECT DATE_FORMAT(ts, 'yyyy') FROM t
-- bounded
SELECT FLOOR(ts TO HOUR) FROM t
-- bounded
SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES A.ts AS a ONE ROW PER MATCH PATTERN (A B+ C) WITHIN INTERVAL '1' HOUR DEFINE B AS B.v > 1) AS T
-- refused: a query of no stream
SELECT * FROM (VALUES (1, 'a')) AS x (a, b)
-- bounded
SELECT t.id, x.b FROM t JOIN (VALUES (1, 'a'), (2, 'b')) AS x (a, b) ON t.id = x.a
-- refused: VALUES or SELECT without FROM but in a join
SELECT t.id, x.b FROM t LEFT JOIN (VALUES (1, 'a'), (2, 'b')) AS x (a, b) ON t.id = x.a
-- bounded
WITH edge AS (SELECT 5 AS low, 9 AS high) SELECT t.id FROM t, edge WHERE t.id BETWEEN low AND high
-- bounded
WITH a AS (SELECT id FROM t), b AS (SELECT id FROM a) SELECT * FROM b
-- unbounded
SELECT t.id FROM t LEFT JOIN u ON t.id = u.id
-- unbounded
SELECT t.id FROM t FULL OUTER JOIN u ON t.id = u.id
-- bounded
SELECT id FROM `t` WHERE `k` = 'it''s'
-- refused: EXPLAIN
EXPLAIN SELECT id FROM t
-- bounded
SELECT id FROM default_catalog.default_database.t
-- bounded
SELECT t.id FROM db.t WHERE t.id > 1
-- bounded
CREATE OR REPLACE TABLE x AS SELECT id FROM t
-- bounded
CREATE MATERIALIZED TABLE x FRESHNESS = INTERVAL '3' MINUTE AS SELECT id FROM t
-- unbounded
SELECT a.id FROM t a JOIN u b USING (id)
-- bounded
SELECT ts - INTERVAL '1' DAY FROM t
-- bounded
SELECT id FROM t WHERE ts >= CURRENT_TIMESTAMP - INTERVAL '1' DAY
-- bounded
SELECT id FROM t WHERE ts BETWEEN NOW() - INTERVAL '1' DAY AND NOW()
-- bounded
SELECT JSON_VALUE(k, '$.a' RETURNING INT DEFAULT 0 ON ERROR), JSON_QUERY(k, '$.x' WITH CONDITIONAL ARRAY WRAPPER), JSON_EXISTS(k, '$.c' TRUE ON ERROR), JSON_ARRAY(id ABSENT ON NULL) FROM t
-- bounded
INSERT INTO o SELECT CAST(ROW(id, k) AS ROW<p BIGINT, c ROW<x INT>>), CAST(ROW(1) AS ROW(a INT)), CAST(k AS MULTISET<INT>) FROM t
-- bounded
SELECT a.id FROM t a, u b WHERE a.id = b.id AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' MONTH
-- bounded
SELECT a.id FROM t a, u b WHERE a.id = b.id AND TIMESTAMPDIFF(YEAR, b.ts, a.ts) BETWEEN 0 AND 1
-- unbounded
SELECT a.id FROM t a, u b WHERE a.id = b.id AND a.ts >= b.ts + INTERVAL '1' MONTH
-- bounded
SELECT ts + INTERVAL '1' MONTH FROM t WHERE ts - INTERVAL '1' YEAR > TIMESTAMP '2020-01-01 00:00:00'
-- unbounded
SELECT id, MyAgg(v), COUNT(*) FROM t GROUP BY id
-- unknown
SELECT MyAgg(v) AS a, COUNT(*) AS n FROM t
-- bounded
SELECT id, ROUND(MyAgg(v, d), 2) AS a FROM t GROUP BY id, TUMBLE(ts, INTERVAL '1' HOUR)
