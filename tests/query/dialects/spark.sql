-- What the documentation of this dialect shows, over the streams t and u and the static relation s of the test.
-- Above each text: the verdict of its last query, or what is not decided.
-- bounded
INSERT INTO o SELECT id FROM t
-- bounded
INSERT OVERWRITE TABLE o SELECT id FROM t
-- bounded
INSERT INTO o BY NAME SELECT id FROM t
-- bounded
CREATE TABLE o USING delta AS SELECT id FROM t
-- bounded
CREATE TABLE o USING parquet PARTITIONED BY (d) TBLPROPERTIES ('a'='b') AS SELECT id FROM t
-- bounded
CREATE OR REPLACE TEMP VIEW v AS SELECT id FROM t
-- bounded
CREATE OR REFRESH STREAMING TABLE o AS SELECT id FROM STREAM(t)
-- bounded
CREATE OR REFRESH STREAMING LIVE TABLE o COMMENT 'x' AS SELECT id FROM STREAM(LIVE.t)
-- bounded
CREATE STREAMING TABLE o (CONSTRAINT c EXPECT (id IS NOT NULL) ON VIOLATION DROP ROW) AS SELECT id FROM STREAM t
-- bounded
CREATE FLOW f AS INSERT INTO o BY NAME SELECT id FROM STREAM(t)
-- bounded
SELECT id FROM STREAM t WATERMARK ts DELAY OF INTERVAL 10 MINUTES
-- bounded
SELECT window(ts, '10 minutes'), count(*) FROM t GROUP BY window(ts, '10 minutes')
-- bounded
SELECT window.start, id FROM t GROUP BY window(ts, '1 hour'), id
-- bounded
SELECT session_window(ts, '5 minutes'), count(*) FROM t GROUP BY session_window(ts, '5 minutes')
-- unbounded
SELECT a.id FROM t a LEFT SEMI JOIN u b ON a.id = b.id
-- unbounded
SELECT a.id FROM t a LEFT ANTI JOIN u b ON a.id = b.id
-- bounded
SELECT id, explode(split(k, ',')) FROM t
-- bounded
SELECT id, c FROM t LATERAL VIEW explode(split(k, ',')) x AS c
-- bounded
SELECT * EXCEPT (k) FROM t
-- bounded
SELECT /*+ BROADCAST(s) */ t.id FROM t JOIN s ON t.k = s.k
-- bounded
SELECT a.id FROM t a JOIN u b ON a.id = b.id AND b.ts >= a.ts AND b.ts <= a.ts + interval 1 hour
-- bounded
SELECT a.id FROM t a JOIN u b ON a.id = b.id AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1 hour 30 minutes'
-- bounded
SELECT a.id FROM t a JOIN u b ON a.id = b.id AND timestampdiff(MINUTE, a.ts, b.ts) BETWEEN 0 AND 5
-- bounded
SELECT a.id FROM t a JOIN u b ON a.id = b.id AND datediff(MINUTE, a.ts, b.ts) BETWEEN 0 AND 5
-- bounded
SELECT a.id FROM t a JOIN u b ON a.id = b.id AND b.ts - a.ts BETWEEN INTERVAL 0 MINUTES AND INTERVAL 5 MINUTES
-- refused: MAKE_INTERVAL(0, 0, 0, 0, 0, 5, 0) cannot be added to a timestamp of type timestamp
SELECT a.id FROM t a JOIN u b ON a.id = b.id AND b.ts <= a.ts + make_interval(0,0,0,0,0,5,0)
-- refused: CLUSTER BY
SELECT id FROM t CLUSTER BY id
-- refused: DISTRIBUTE BY | SORT BY
SELECT id FROM t DISTRIBUTE BY id SORT BY ts
-- unbounded
SELECT id FROM t WHERE id IN (SELECT id FROM u)
-- bounded
SELECT id, k FROM t WHERE k RLIKE 'a' AND v % 2 = 0
-- bounded
FROM t SELECT id
-- refused: TABLESAMPLE
SELECT id FROM t TABLESAMPLE (10 PERCENT)
-- refused: PIVOT
SELECT * FROM t PIVOT (SUM(v) FOR k IN ('a', 'b'))
-- unbounded
SELECT id FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY ts) = 1
-- bounded
SELECT CAST(k AS INT), k::int, id + 1, -v, NOT v > 1, concat(k, 'x'), random() FROM t
-- refused: VERSION AS OF
SELECT id FROM t VERSION AS OF 3
-- bounded
SELECT id FROM cat.sch.t
-- bounded
SELECT cat.sch.t.id FROM cat.sch.t
-- bounded
SELECT id FROM t WHERE ts > current_timestamp() - INTERVAL 1 HOUR
-- unbounded
SELECT id FROM t MINUS SELECT id FROM u
-- unknown
SELECT GROUPING(id), count(*) FROM t GROUP BY ROLLUP (id)
-- bounded
CREATE VIEW v AS SELECT id FROM t; CACHE TABLE v; SELECT * FROM v
-- bounded
SET spark.sql.x = true; SELECT id FROM t
-- refused: MERGE
MERGE INTO x USING t ON x.id = t.id WHEN MATCHED THEN UPDATE SET *
-- bounded
SELECT id FROM t |> WHERE id > 1
-- refused: VALUES
VALUES (1, 2)
-- refused: the table function READ_FILES
SELECT * FROM read_files('x')
-- bounded
INSERT OVERWRITE LOCAL DIRECTORY '/x' USING parquet OPTIONS (a 'b') SELECT id FROM t
-- bounded
INSERT OVERWRITE DIRECTORY '/x' STORED AS orc SELECT id FROM t
-- refused: CREATE
CREATE FLOW f AS AUTO CDC INTO target FROM STREAM(t) KEYS (id) SEQUENCE BY ts
-- refused: APPLY
APPLY CHANGES INTO target FROM STREAM(t) KEYS (id) SEQUENCE BY ts
-- bounded
CREATE STREAMING TABLE x (id BIGINT, n INT) AS SELECT * FROM STREAM(raw.x); SELECT DISTINCT id FROM x WHERE id BETWEEN 1 AND 5
-- unbounded
CREATE STREAMING TABLE x (id BIGINT, n INT) AS SELECT * FROM STREAM(elsewhere.y); SELECT DISTINCT id FROM x
-- refused: the pseudo-column _METADATA
SELECT id, _metadata.file_path FROM t
-- refused: the pseudo-column _METADATA
SELECT *, _metadata FROM t
-- bounded
SELECT w.start, count(*) AS n FROM (SELECT window(ts, '10 minutes') AS w FROM t) GROUP BY w
-- refused: a field of the key w
SELECT w.length, count(*) AS n FROM (SELECT window(ts, '10 minutes') AS w FROM t) GROUP BY w
-- bounded
CREATE OR REFRESH STREAMING TABLE m AS SELECT window(at, '5 minutes') AS w, MAX(v) AS v FROM STREAM t WATERMARK to_timestamp(k, 'yyyy-MM-dd HH:mm') AS at DELAY OF INTERVAL 1 MINUTE AS late GROUP BY window(at, '5 minutes')
-- bounded
SELECT id, at FROM t WATERMARK COALESCE(ts, TIMESTAMP '2030-01-01') AS at DELAY OF INTERVAL 1 MINUTE
-- bounded
SELECT id, concat(k, '-', uuid()) AS key, current_date() AS day FROM t WHERE v > 0.5
-- refused: the function call rand(), whose value is another each time,
SELECT DISTINCT id, rand() AS r FROM t
-- refused: the function call rand(), whose value is another each time,
SELECT q.r FROM (SELECT rand() AS r FROM t) q GROUP BY q.r
-- unbounded
SELECT DISTINCT explode(split(k, ' ')) AS word FROM t
