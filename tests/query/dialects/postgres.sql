-- What the documentation of this dialect shows, over the streams t and u and the static relation s of the test.
-- Above each text: the verdict of its last query, or what is not decided.
-- bounded
CREATE MATERIALIZED VIEW v AS SELECT id FROM t WITH NO DATA
-- bounded
SELECT id FROM ONLY t
-- bounded
SELECT id INTO x FROM t
-- refused: FOR UPDATE
SELECT id FROM t FOR UPDATE
-- refused: TABLESAMPLE
SELECT id FROM t TABLESAMPLE SYSTEM (10)
-- refused: LATERAL
SELECT a.id FROM t a JOIN LATERAL (SELECT 1) b ON true
-- bounded
SELECT id FROM t WHERE ts > now() - '1 hour'::interval
-- refused: (id, k)
SELECT id FROM t WHERE (id, k) IN ((1, 'a'))
-- refused: ANY (SELECT ...)
SELECT id FROM t WHERE id = ANY (SELECT id FROM u)
-- bounded
SELECT id FROM t WHERE id = ANY (ARRAY[1,2])
-- bounded
SELECT id FROM t WHERE k SIMILAR TO 'a' OR k ~* 'b'
-- unbounded
SELECT count(*) OVER w FROM t WINDOW w AS (PARTITION BY id)
-- bounded
WITH x AS MATERIALIZED (SELECT id FROM t) SELECT * FROM x
-- refused: BETWEEN SYMMETRIC
SELECT a.id FROM t a JOIN u b ON a.id = b.id AND a.ts BETWEEN SYMMETRIC b.ts AND b.ts
-- bounded
SELECT id FROM t WHERE v IS DISTINCT FROM 1
-- bounded
TABLE t
-- bounded
TABLE t
