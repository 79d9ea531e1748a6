-- What the documentation of this dialect shows, over the streams t and u and the static relation s of the test.
-- Above each text: the verdict of its last query, or what is not decided.
-- bounded
SELECT id INTO [out] FROM t TIMESTAMP BY ts
-- bounded
SELECT [id], [k] AS [Key] FROM [t] TIMESTAMP BY [ts]
-- bounded
SELECT a.id INTO o FROM t a TIMESTAMP BY ts JOIN u b TIMESTAMP BY ts ON a.id = b.id AND DATEDIFF(minute, a, b) BETWEEN 0 AND 5
-- bounded
SELECT a.id FROM t a TIMESTAMP BY ts JOIN u b TIMESTAMP BY ts ON DATEDIFF(second, a.ts, b.ts) BETWEEN 0 AND 10 AND a.id = b.id
-- bounded
SELECT a.id FROM t a TIMESTAMP BY ts LEFT JOIN u b TIMESTAMP BY ts ON DATEDIFF(ss, a, b) BETWEEN 1 AND 10 AND a.id = b.id
-- bounded
WITH x AS (SELECT id FROM t TIMESTAMP BY ts), y AS (SELECT id FROM x) SELECT * INTO o1 FROM x SELECT * INTO o2 FROM y
-- bounded
SELECT COUNT(*) FROM t TIMESTAMP BY ts PARTITION BY k GROUP BY HoppingWindow(Duration(hour, 1), Hop(minute, 5)), k
-- bounded
SELECT id, System.Timestamp() AS w, AVG(v) FROM t TIMESTAMP BY ts OVER id GROUP BY id, SlidingWindow(minute, 5)
-- bounded
SELECT id, LAG(v) OVER (PARTITION BY id LIMIT DURATION(minute, 5)) FROM t TIMESTAMP BY ts
-- bounded
SELECT id, Collect() FROM t GROUP BY id, SessionWindow(second, 5, 10)
-- bounded
SELECT t.id, s.n FROM t TIMESTAMP BY ts JOIN s ON t.k = s.k
-- bounded
SELECT id, arr.ArrayValue FROM t CROSS APPLY GetArrayElements(k) AS arr
-- bounded
SELECT GetRecordPropertyValue(k, 'a'), udf.f(id), TRY_CAST(k AS bigint) FROM t
-- bounded
SELECT TOP 5 id FROM t
-- bounded
SELECT UPPER(k) + 'x' FROM t WHERE k NOT LIKE 'a%' AND v IS NOT NULL
-- bounded
CREATE TABLE x (a bigint, b nvarchar(max), ts datetime); SELECT a FROM x TIMESTAMP BY ts
-- bounded
SELECT DATEADD(minute, 5, ts) FROM t
-- bounded
SELECT a.id FROM t a TIMESTAMP BY ts JOIN u b TIMESTAMP BY ts ON b.ts <= DATEADD(minute, 5, a.ts) AND b.ts >= a.ts AND DATEDIFF(day, a, b) = 0
-- refused: MATCH_RECOGNIZE
SELECT * FROM t MATCH_RECOGNIZE (LIMIT DURATION(minute, 1) PARTITION BY id MEASURES Last(A.ts) AS x AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ B) DEFINE A AS A.v > 1) AS q
-- bounded
SELECT AnomalyDetection_SpikeAndDip(v, 95, 120, 'x') OVER (LIMIT DURATION(second, 120)) AS s, LAG(k, 1) OVER (LIMIT DURATION(minute, 1)) FROM t TIMESTAMP BY ts
-- bounded
SELECT id FROM t TIMESTAMP BY ts UNION SELECT id FROM u
-- bounded
SELECT k, COUNT(*) FROM t TIMESTAMP BY ts GROUP BY k, SessionWindow(second, 5, 10) OVER (PARTITION BY k)
-- refused: Windows()
SELECT k, COUNT(*) FROM t TIMESTAMP BY ts GROUP BY k, Windows(TumblingWindow(minute, 1), TumblingWindow(hour, 1))
-- bounded
SELECT id, a.ArrayIndex, a.ArrayValue.x.y FROM t TIMESTAMP BY ts CROSS APPLY GetArrayElements(t.k) AS a WHERE a.ArrayValue.z > 3
-- bounded
SELECT System.Timestamp() AS w, System.Timestamp AS x, k FROM t TIMESTAMP BY ts
-- bounded
SELECT k, COUNT(*), System.Timestamp() AS w FROM t TIMESTAMP BY ts GROUP BY k, SnapshotWindow()
-- bounded
SELECT k, COUNT(*), System.Timestamp AS w FROM t TIMESTAMP BY ts GROUP BY k, System.Timestamp()
-- bounded
WITH x AS (SELECT k, COUNT(*) AS c FROM t TIMESTAMP BY ts GROUP BY k, TumblingWindow(minute, 1)) SELECT k, SUM(c) AS c, System.Timestamp() AS w FROM x GROUP BY k, TumblingWindow(hour, 1)
-- bounded
CREATE TABLE x (v bigint, k nvarchar(max)); SELECT k, COUNT(*) FROM x TIMESTAMP BY DATEADD(second, v, '1970-01-01') GROUP BY k, TumblingWindow(minute, 1)
-- refused: the pseudo-column PARTITIONID
SELECT k, COUNT(*) FROM t TIMESTAMP BY ts PARTITION BY PartitionId GROUP BY TumblingWindow(minute, 3), k, PartitionId
