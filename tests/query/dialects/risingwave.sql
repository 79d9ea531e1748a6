-- What the documentation of this dialect shows, over the streams t and u and the static relation s of the test.
-- Above each text: the verdict of its last query, or what is not decided.
-- bounded
CREATE MATERIALIZED VIEW IF NOT EXISTS o AS SELECT id FROM t
-- bounded
CREATE MATERIALIZED VIEW o WITH (source_rate_limit=1) AS SELECT id FROM t
-- bounded
CREATE SINK o INTO x FROM t WITH (type='append-only')
-- bounded
CREATE SINK o AS SELECT id FROM t WITH (connector='kafka', properties.bootstrap.server='a') FORMAT PLAIN ENCODE JSON (force_append_only='true')
-- bounded
CREATE SINK o FROM t WITH (connector='kafka') FORMAT UPSERT ENCODE AVRO (schema.registry='x') KEY ENCODE TEXT
-- bounded
CREATE TABLE x (a INT PRIMARY KEY, b VARCHAR, c STRUCT<a INT>, d INT[], e JSONB, ts TIMESTAMPTZ, WATERMARK FOR ts AS ts - INTERVAL '1 minute') APPEND ONLY ON CONFLICT IGNORE WITH (connector='kafka') FORMAT PLAIN ENCODE JSON; SELECT a, ts FROM x
-- bounded
CREATE SOURCE x (*, ts TIMESTAMP AS to_timestamp(a)) INCLUDE KEY AS k WITH (connector='kafka', topic='x') FORMAT PLAIN ENCODE AVRO (schema.registry='http://x'); SELECT id FROM t
-- unbounded
CREATE TABLE x (a int, b varchar, PRIMARY KEY (a)) WITH (connector='postgres-cdc'); SELECT a FROM x
-- bounded
CREATE TABLE x (*) FROM pg TABLE 'public.x'; SELECT id FROM t
-- bounded
SELECT id FROM t EMIT ON WINDOW CLOSE
-- bounded
CREATE MATERIALIZED VIEW o AS SELECT window_start, COUNT(*) FROM TUMBLE(t, ts, INTERVAL '1 MINUTE') GROUP BY window_start EMIT ON WINDOW CLOSE
-- unbounded
SELECT a.id FROM t a JOIN u FOR SYSTEM_TIME AS OF PROCTIME() b ON a.id = b.id
-- unbounded
SELECT a.id FROM t a ASOF JOIN u b ON a.id = b.id AND a.ts >= b.ts
-- bounded
SELECT a.id FROM t a, u b WHERE a.id = b.id AND a.ts >= b.ts AND a.ts < b.ts + INTERVAL '1 hour 30 minutes'
-- bounded
SELECT a.id FROM t a, u b WHERE a.id = b.id AND a.ts - b.ts <= INTERVAL '5 minutes' AND b.ts - a.ts <= '5 minutes'::interval
-- bounded
SELECT a.id FROM t a, u b WHERE a.id = b.id AND EXTRACT(EPOCH FROM a.ts - b.ts) BETWEEN 0 AND 60
-- bounded
SELECT a.id FROM t a, u b WHERE a.id = b.id AND abs(EXTRACT(EPOCH FROM (a.ts - b.ts))) <= 60
-- unbounded
SELECT DISTINCT ON (id) id, v FROM t ORDER BY id, ts DESC
-- unbounded
SELECT id, ROW_NUMBER() OVER (PARTITION BY id ORDER BY ts) AS r FROM t
-- unbounded
SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS r FROM t) WHERE r = 1
-- bounded
SELECT t.id::varchar, v::numeric, (k)::jsonb->>'a' FROM t
-- bounded
SELECT id, unnest(ARRAY[1,2]) FROM t
-- refused: the table function EXPLODING_GENERATE_SERIES
SELECT id FROM t, generate_series(1, 3) g
-- bounded
SELECT id FROM t WHERE k ILIKE 'a%' OR k ~ 'x'
-- unbounded
SELECT id FROM t CROSS JOIN LATERAL (SELECT w FROM u WHERE u.id = t.id) x
-- unbounded
SELECT t.id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.id = t.id)
-- unbounded
SELECT COUNT(*) FILTER (WHERE v > 1), approx_count_distinct(id), array_agg(k ORDER BY ts), string_agg(k, ',') FROM t
-- bounded
SELECT id FROM t LIMIT 5 OFFSET 2
-- bounded
CREATE INDEX i ON x (a); SELECT id FROM t
-- bounded
CREATE CONNECTION c WITH (type='x'); CREATE SECRET s WITH (backend='x') AS 'y'; SELECT id FROM t
-- bounded
CREATE SUBSCRIPTION s FROM o WITH (retention='1D'); SELECT id FROM t
-- bounded
CREATE FUNCTION f(int) RETURNS int LANGUAGE python AS 'x'; SELECT id FROM t
-- bounded
ALTER TABLE x ADD COLUMN y INT; SELECT id FROM t
-- bounded
SET rw_x = true; SELECT id FROM t
-- bounded
SELECT date_trunc('hour', ts) FROM t
-- bounded
SELECT * FROM t WHERE ts > NOW() - INTERVAL '1 week'
-- bounded
DELETE FROM x WHERE a = 1; SELECT id FROM t
-- bounded
SELECT id FROM "t" WHERE "k" = 'x'
-- bounded
SELECT id FROM public.t
-- bounded
SELECT a.id FROM t a, u b WHERE a.id = b.id AND a.ts - b.ts < INTERVAL '1 month 3 days' AND a.ts > b.ts
-- refused: SESSION WITH GAP
SELECT FIRST_VALUE(v) OVER (PARTITION BY id ORDER BY ts SESSION WITH GAP INTERVAL '1 hour') FROM t
-- refused: the pseudo-column _RW_KAFKA_TIMESTAMP
SELECT id, _rw_kafka_timestamp FROM t
