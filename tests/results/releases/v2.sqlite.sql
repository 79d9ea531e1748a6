BEGIN TRANSACTION;
CREATE TABLE answers (
	run_id TEXT NOT NULL, 
	"query" TEXT NOT NULL, 
	evaluated_at DATETIME NOT NULL, 
	streams JSON NOT NULL, 
	partitions BIGINT NOT NULL, 
	missing_partitions JSON NOT NULL, 
	rows_read BIGINT NOT NULL, 
	answer_rows BIGINT NOT NULL, 
	answer_count TEXT, 
	peak_units TEXT, 
	units TEXT, 
	seconds FLOAT, 
	digest TEXT, 
	PRIMARY KEY (run_id, "query")
);
INSERT INTO "answers" VALUES('run 1','q5','2026-11-27 12:00:00.000000','["S"]',365,'["2013-02-30"]',336776,7,'100000000000000000000','3','1000000000000000000000000000007',1.5,'ab12');
CREATE TABLE cache_answers (
	run_id TEXT NOT NULL, 
	"query" TEXT NOT NULL, 
	evaluated_at DATETIME NOT NULL, 
	size BIGINT NOT NULL, 
	policy TEXT NOT NULL, 
	alpha FLOAT, 
	why TEXT NOT NULL, 
	results BIGINT NOT NULL, 
	estimated_results FLOAT, 
	standard_error FLOAT, 
	estimated_share FLOAT, 
	PRIMARY KEY (run_id, "query")
);
INSERT INTO "cache_answers" VALUES('run 1','q9','2026-11-27 12:00:00.000000',500,'lru',NULL,'why',7,9.5,NULL,0.75);
CREATE TABLE cache_benchmarks (
	run_id TEXT NOT NULL, 
	"query" TEXT NOT NULL, 
	size BIGINT NOT NULL, 
	contender TEXT NOT NULL, 
	benchmarked_at DATETIME NOT NULL, 
	night TEXT NOT NULL, 
	policy TEXT NOT NULL, 
	alpha FLOAT, 
	kept BIGINT NOT NULL, 
	possible BIGINT NOT NULL, 
	optimum BIGINT NOT NULL, 
	share FLOAT, 
	chosen BOOLEAN NOT NULL, 
	why TEXT, 
	drifted BOOLEAN NOT NULL, 
	PRIMARY KEY (run_id, "query", size, contender)
);
INSERT INTO "cache_benchmarks" VALUES('run 1','q9',5,'heeb, alpha 4 k','2026-11-27 12:00:00.000000','2013-01-31','heeb',4.0,7,9,8,7.77777777777777790113e-01,1,'w',0);
CREATE TABLE figures (
	run_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	value FLOAT NOT NULL, 
	unit TEXT NOT NULL, 
	PRIMARY KEY (run_id, name)
);
INSERT INTO "figures" VALUES('run 1','scan ratio',1.7,'x');
CREATE TABLE partition_metrics (
	run_id TEXT NOT NULL, 
	stream TEXT NOT NULL, 
	partition TEXT NOT NULL, 
	metrics JSON NOT NULL, 
	PRIMARY KEY (run_id, stream, partition)
);
INSERT INTO "partition_metrics" VALUES('run 1','S','2013-01-01','{"rows": 842}');
CREATE TABLE quality (
	run_id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	checked_at DATETIME NOT NULL, 
	success BOOLEAN NOT NULL, 
	evaluated INTEGER NOT NULL, 
	failed JSON NOT NULL, 
	docs TEXT, 
	PRIMARY KEY (run_id, kind, subject)
);
INSERT INTO "quality" VALUES('run 1','stream','S','2026-11-27 12:00:00.000000',0,4,'[{"partition": "2013-02-30", "reasons": ["no such day"]}]',NULL);
CREATE TABLE runs (
	run_id TEXT NOT NULL, 
	job TEXT NOT NULL, 
	started_at DATETIME, 
	ended_at DATETIME, 
	state TEXT NOT NULL, 
	first_partition TEXT, 
	last_partition TEXT, 
	engine TEXT, 
	parameters JSON, 
	PRIMARY KEY (run_id, job)
);
INSERT INTO "runs" VALUES('run 1','evaluate_history','2026-11-27 12:00:00.000000','2026-11-27 12:03:00.000000','success','2013-01-01','2013-12-31','spark','{"days": 3}');
CREATE TABLE streambound_schema (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "streambound_schema" VALUES(2);
CREATE TABLE verdicts (
	run_id TEXT NOT NULL, 
	"query" TEXT NOT NULL, 
	checked_at DATETIME NOT NULL, 
	sql TEXT NOT NULL, 
	verdict TEXT NOT NULL, 
	projection TEXT, 
	criterion TEXT, 
	units TEXT, 
	units_formula TEXT, 
	reasons JSON NOT NULL, 
	published JSON NOT NULL, 
	suggestions JSON NOT NULL, 
	error TEXT, 
	PRIMARY KEY (run_id, "query")
);
INSERT INTO "verdicts" VALUES('run 1','q5','2026-11-27 12:00:00.000000','SELECT S.A FROM S','bounded','preserving','exact','1000000000000000000000000000007',NULL,'[{"code": "ok", "message": "fine"}]','{"arasu": "bounded"}','[]',NULL);
CREATE INDEX ix_verdicts_checked_at ON verdicts (checked_at);
CREATE INDEX ix_runs_started_at ON runs (started_at);
CREATE INDEX ix_answers_evaluated_at ON answers (evaluated_at);
CREATE INDEX ix_quality_checked_at ON quality (checked_at);
CREATE INDEX ix_cache_benchmarks_benchmarked_at ON cache_benchmarks (benchmarked_at);
CREATE INDEX ix_cache_answers_evaluated_at ON cache_answers (evaluated_at);
COMMIT;
