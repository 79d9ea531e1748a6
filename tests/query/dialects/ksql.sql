-- What the documentation of this dialect shows, over the streams t and u and the static relation s of the test.
-- Above each text: the verdict of its last query, or what is not decided.
-- bounded
CREATE STREAM o AS SELECT id FROM t EMIT CHANGES
-- bounded
CREATE OR REPLACE STREAM o WITH (KAFKA_TOPIC='o', PARTITIONS=3) AS SELECT id FROM t PARTITION BY id EMIT CHANGES
-- bounded
CREATE TABLE o AS SELECT id, COUNT(*) AS n FROM t WINDOW HOPPING (SIZE 30 SECONDS, ADVANCE BY 10 SECONDS, RETENTION 7 DAYS, GRACE PERIOD 30 MINUTES) WHERE v > 1 GROUP BY id HAVING COUNT(*) > 3 EMIT FINAL
-- unbounded
CREATE TABLE o AS SELECT id, LATEST_BY_OFFSET(v) FROM t GROUP BY id
-- bounded
SELECT a.id FROM t a INNER JOIN u b WITHIN 7 DAYS ON a.id = b.id EMIT CHANGES
-- bounded
SELECT a.id FROM t a INNER JOIN u b WITHIN (1 HOURS, 2 DAYS) GRACE PERIOD 24 HOURS ON a.id = b.id EMIT CHANGES LIMIT 10
-- bounded
SELECT a.id FROM t a LEFT JOIN u b WITHIN 1 HOUR ON a.id = b.id
-- bounded
SELECT a.id FROM t a JOIN u b WITHIN 1 HOUR GRACE PERIOD 15 MINUTES ON a.id = b.id JOIN s ON a.k = s.k
-- bounded
INSERT INTO o SELECT id FROM t
-- bounded
SET 'auto.offset.reset'='earliest'; SELECT id FROM t EMIT CHANGES
-- bounded
CREATE STREAM x (id INT KEY, h BYTES HEADER('a'), m MAP<VARCHAR, INT>, s STRUCT<a INT>, l ARRAY<INT>) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON', TIMESTAMP='ID'); SELECT ID, ROWTIME FROM X EMIT CHANGES
-- bounded
CREATE SOURCE CONNECTOR c WITH ('a'='b'); SELECT id FROM t EMIT CHANGES
-- bounded
CREATE TYPE a AS STRUCT<x INT>; SELECT id FROM t EMIT CHANGES
-- bounded
DEFINE x = 'a'; SELECT id FROM t EMIT CHANGES
-- bounded
SELECT id FROM t WHERE ROWTIME > '2020-01-01T00:00:00' EMIT CHANGES
-- refused: the function call EXPLODE(SPLIT(k, ',')), which makes several rows of one,
SELECT EXPLODE(SPLIT(k, ',')) FROM t EMIT CHANGES
-- bounded
SELECT ID AS `id`, `k` FROM T EMIT CHANGES
-- bounded
SELECT id, AS_VALUE(k) FROM t
-- bounded
SELECT * FROM t EMIT CHANGES
-- bounded
SELECT t.* FROM t EMIT CHANGES
-- bounded
SELECT id FROM t WHERE k LIKE '%a' AND v BETWEEN 1 AND 2
-- bounded
PRINT 'topic' FROM BEGINNING; SELECT id FROM t EMIT CHANGES
-- bounded
DROP STREAM IF EXISTS x DELETE TOPIC; SELECT id FROM t EMIT CHANGES
-- bounded
SELECT id, WINDOWSTART FROM t WINDOW SESSION (60 SECONDS) GROUP BY id EMIT CHANGES
