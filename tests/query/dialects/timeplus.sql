-- What the documentation of this dialect shows, over the streams t and u and the static relation s of the test.
-- Above each text: the verdict of its last query, or what is not decided.
-- bounded
CREATE STREAM x (id int, k string, m map(string, string), l low_cardinality(string), n nullable(float64), ts datetime64(3)) SETTINGS event_time_column='ts'; SELECT id FROM x
-- bounded
CREATE EXTERNAL STREAM x (raw string) SETTINGS type='kafka', brokers='a', topic='b'; SELECT raw FROM x
-- bounded
CREATE MATERIALIZED VIEW v INTO o AS SELECT id FROM t
-- bounded
CREATE MATERIALIZED VIEW v AS SELECT id FROM t SETTINGS a=1
-- bounded
CREATE VIEW v AS SELECT id FROM t
-- bounded
SELECT window_start, count() FROM tumble(t, ts, 1m) GROUP BY window_start EMIT AFTER WATERMARK
-- bounded
SELECT count() FROM hop(t, 5s, 1m) GROUP BY window_start
-- bounded
SELECT window_start, count() FROM session(t, 1m) PARTITION BY id GROUP BY window_start
-- unbounded
SELECT window_start, group_array(id) FROM session(t, 1m) PARTITION BY id GROUP BY window_start
-- bounded
SELECT window_start, group_array(id) FROM session(t, 1m, 5m) PARTITION BY id GROUP BY window_start
-- bounded
SELECT a.id FROM t AS a INNER JOIN u AS b ON a.id = b.id AND date_diff_within(2m, a.ts, b.ts)
-- bounded
SELECT a.id, b.w FROM t AS a LEFT JOIN u AS b ON a.id = b.id AND date_diff_within(30s)
-- unbounded
SELECT a.id FROM t AS a ASOF JOIN u AS b ON a.id = b.id AND a.ts >= b.ts
-- unbounded
SELECT a.id FROM t AS a LATEST JOIN u AS b ON a.id = b.id
-- unbounded
SELECT a.id, b.w FROM t AS a LEFT LATEST JOIN u AS b ON a.id = b.id
-- refused: LATEST FULL JOIN
SELECT a.id FROM t AS a FULL LATEST JOIN u AS b ON a.id = b.id
-- bounded
SELECT a.id FROM t a JOIN u b ON a.id = b.id AND a.ts <= b.ts + 5m AND b.ts <= a.ts + INTERVAL 5 MINUTE
-- bounded
SELECT t.id, h.w FROM t LEFT JOIN table(u) AS h ON t.id = h.id WHERE t.v > 0.5
-- bounded
SELECT id FROM t WHERE ts > now() - 1h
-- unbounded
SELECT id, lag(v) OVER (PARTITION BY id) FROM t
-- bounded
SELECT to_string(id), k:a.b, array_join([1,2]) FROM t
-- refused: the table function CHANGELOG
SELECT id FROM changelog(t, id)
-- unbounded
SELECT id FROM t LIMIT 1 BY id
-- bounded
SELECT id FROM t EMIT PERIODIC 5s
-- bounded
SELECT count() FROM t EMIT ON UPDATE
-- bounded
SELECT multi_if(v > 1, 'a', 'b') FROM t
-- bounded
SELECT id FROM t SETTINGS seek_to='earliest'
-- bounded
SELECT id FROM t UNION ALL SELECT id FROM u
-- bounded
INSERT INTO o SELECT id FROM t
-- unbounded
SELECT DISTINCT id FROM t
-- unbounded
SELECT quantile(v, 0.9), p90(v), unique_exact(k) FROM t
-- unbounded
SELECT k, count() FROM t SHUFFLE BY k GROUP BY k
-- bounded
SELECT top_k(k, 3), count() FROM t
-- bounded
SELECT id, count() FROM session(t, ts, 1m, 1h, [k = 'a', k = 'b')) GROUP BY id, window_start
-- bounded
SELECT id, count() FROM session(t, ts, 1m, 1h, (k = 'a', k = 'b']) GROUP BY id, window_start
-- bounded
SELECT count() FROM t EMIT PER EVENT
-- bounded
SELECT id, v FROM t EMIT CHANGELOG
-- bounded
SELECT id, v - lag(v) AS step FROM t
-- unbounded
SELECT id, lag(v) OVER (PARTITION BY id ORDER BY ts) AS before FROM t
