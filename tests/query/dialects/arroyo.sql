-- What the documentation of this dialect shows, over the streams t and u and the static relation s of the test.
-- Above each text: the verdict of its last query, or what is not decided.
-- bounded
CREATE TABLE x (id BIGINT, ts TIMESTAMP NOT NULL, WATERMARK FOR ts AS ts - INTERVAL '5 seconds') WITH (connector='kafka', format='json', type='source', 'source.offset'='earliest'); SELECT id FROM x
-- bounded
CREATE TABLE x (value TEXT, et TIMESTAMP GENERATED ALWAYS AS (CAST(value AS TIMESTAMP)) STORED) WITH (connector='sse', event_time_field='et'); INSERT INTO o SELECT et FROM x
-- bounded
INSERT INTO o SELECT id FROM t
-- bounded
CREATE VIEW v AS SELECT id FROM t; INSERT INTO o SELECT * FROM v
-- bounded
SELECT tumble(interval '5 seconds') AS w, count(*) FROM t GROUP BY w
-- bounded
SELECT w.start FROM (SELECT hop(interval '1 second', interval '5 seconds') AS w, count(*) FROM t GROUP BY 1) x
-- bounded
SELECT extract_json(k, '$.a')[1] FROM t
-- bounded
SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY w ORDER BY n DESC) AS r FROM (SELECT id, tumble(interval '1 minute') AS w, count(*) AS n FROM t GROUP BY id, w) a) b WHERE r <= 5
-- unbounded
SELECT a.id FROM t a INNER JOIN u b ON a.id = b.id
-- bounded
SELECT unnest(make_array(1,2)) FROM t
-- bounded
SELECT id FROM t WHERE k ->> 'a' = 'b'
-- bounded
SET updating_ttl = '1 hour'; SELECT id FROM t
-- bounded
CREATE TABLE e (id BIGINT, et TIMESTAMP NOT NULL, watermark TIMESTAMP GENERATED ALWAYS AS (et - INTERVAL '5 seconds') STORED) WITH (connector = 'kafka', type = 'source', event_time_field = 'et', watermark_field = 'watermark'); SELECT DISTINCT id, et FROM e
