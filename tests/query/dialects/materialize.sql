-- What the documentation of this dialect shows, over the streams t and u and the static relation s of the test.
-- Above each text: the verdict of its last query, or what is not decided.
-- bounded
CREATE SOURCE x FROM KAFKA CONNECTION c (TOPIC 'x') FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION r ENVELOPE DEBEZIUM; SELECT id FROM t
-- bounded
CREATE SOURCE x IN CLUSTER q FROM LOAD GENERATOR AUCTION (TICK INTERVAL '1s') FOR ALL TABLES; SELECT id FROM t
-- bounded
CREATE TABLE x (a int NOT NULL, b text, ts timestamp); SELECT a FROM x
-- bounded
CREATE TABLE x FROM SOURCE s (REFERENCE y); SELECT id FROM t
-- bounded
CREATE MATERIALIZED VIEW o IN CLUSTER c WITH (REFRESH EVERY '1 day') AS SELECT id FROM t
-- bounded
CREATE VIEW o AS SELECT id FROM t WHERE mz_now() < ts + INTERVAL '5 minutes'
-- bounded
SELECT id FROM t WHERE mz_now() BETWEEN ts AND ts + INTERVAL '5 minutes'
-- bounded
CREATE SINK o FROM t INTO KAFKA CONNECTION c (TOPIC 'o') KEY (id) FORMAT JSON ENVELOPE UPSERT
-- bounded
CREATE INDEX i IN CLUSTER q ON x (a); SELECT id FROM t
-- bounded
CREATE DEFAULT INDEX ON x; SELECT id FROM t
-- bounded
SUBSCRIBE (SELECT id FROM t) WITH (PROGRESS)
-- bounded
SUBSCRIBE TO x; SELECT id FROM t
-- bounded
CREATE CLUSTER c SIZE '100cc'; SELECT id FROM t
-- refused: WITH RECURSIVE
WITH MUTUALLY RECURSIVE r (x int) AS (SELECT id FROM t UNION SELECT x + 1 FROM r) SELECT x FROM r
-- bounded
SELECT id, (k::jsonb)->>'a' AS a FROM t
-- unbounded
SELECT grp.id FROM (SELECT DISTINCT id FROM t) grp, LATERAL (SELECT v FROM t WHERE id = grp.id ORDER BY v DESC LIMIT 3)
-- unbounded
SELECT DISTINCT ON (id) id FROM t ORDER BY id
-- unbounded
SELECT id FROM t a JOIN u b USING (id)
-- refused: the table function JSONB_ARRAY_ELEMENTS
SELECT x.a, x.b FROM t, jsonb_array_elements(k::jsonb) AS x(a, b)
-- unbounded
SELECT id FROM t GROUP BY id
-- bounded
CREATE VIEW x AS TABLE t
-- unbounded
SELECT id, list_agg(v ORDER BY v) FROM t GROUP BY id
-- bounded
COPY (SUBSCRIBE (SELECT id FROM t WHERE id > 5)) TO STDOUT
-- unbounded
CREATE VIEW x AS SELECT DISTINCT id FROM t; COPY (SUBSCRIBE TO x WITH (SNAPSHOT)) TO STDOUT WITH (FORMAT BINARY)
-- bounded
SUBSCRIBE (SELECT id FROM t) AS OF NOW()
