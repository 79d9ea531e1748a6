CREATE TABLE public.answers (
    run_id text NOT NULL,
    query text NOT NULL,
    evaluated_at timestamp with time zone NOT NULL,
    streams json NOT NULL,
    partitions bigint NOT NULL,
    missing_partitions json NOT NULL,
    rows_read bigint NOT NULL,
    answer_rows bigint NOT NULL,
    answer_count numeric,
    peak_units numeric,
    units numeric,
    seconds double precision,
    digest text
);
CREATE TABLE public.cache_answers (
    run_id text NOT NULL,
    query text NOT NULL,
    evaluated_at timestamp with time zone NOT NULL,
    size bigint NOT NULL,
    policy text NOT NULL,
    alpha double precision,
    why text NOT NULL,
    results bigint NOT NULL,
    estimated_results double precision,
    standard_error double precision,
    estimated_share double precision
);
CREATE TABLE public.cache_benchmarks (
    run_id text NOT NULL,
    query text NOT NULL,
    size bigint NOT NULL,
    contender text NOT NULL,
    benchmarked_at timestamp with time zone NOT NULL,
    night text NOT NULL,
    policy text NOT NULL,
    alpha double precision,
    kept bigint NOT NULL,
    possible bigint NOT NULL,
    optimum bigint NOT NULL,
    share double precision,
    chosen boolean NOT NULL,
    why text,
    drifted boolean NOT NULL
);
CREATE TABLE public.figures (
    run_id text NOT NULL,
    name text NOT NULL,
    value double precision NOT NULL,
    unit text NOT NULL
);
CREATE TABLE public.partition_metrics (
    run_id text NOT NULL,
    stream text NOT NULL,
    partition text NOT NULL,
    metrics json NOT NULL
);
CREATE TABLE public.quality (
    run_id text NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    checked_at timestamp with time zone NOT NULL,
    success boolean NOT NULL,
    evaluated integer NOT NULL,
    failed json NOT NULL,
    docs text
);
CREATE TABLE public.runs (
    run_id text NOT NULL,
    job text NOT NULL,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    state text NOT NULL,
    first_partition text,
    last_partition text,
    engine text,
    parameters json
);
CREATE TABLE public.streambound_schema (
    version integer NOT NULL
);
CREATE TABLE public.verdicts (
    run_id text NOT NULL,
    query text NOT NULL,
    checked_at timestamp with time zone NOT NULL,
    sql text NOT NULL,
    verdict text NOT NULL,
    projection text,
    criterion text,
    units numeric,
    units_formula text,
    reasons json NOT NULL,
    published json NOT NULL,
    suggestions json NOT NULL,
    error text
);
INSERT INTO public.answers VALUES ('run 1', 'q5', '2026-11-27 12:00:00+00', '["S"]', 365, '["2013-02-30"]', 336776, 7, 100000000000000000000, 3, 1000000000000000000000000000007, 1.5, 'ab12');
INSERT INTO public.cache_answers VALUES ('run 1', 'q9', '2026-11-27 12:00:00+00', 500, 'lru', NULL, 'why', 7, 9.5, NULL, 0.75);
INSERT INTO public.cache_benchmarks VALUES ('run 1', 'q9', 5, 'heeb, alpha 4 k', '2026-11-27 12:00:00+00', '2013-01-31', 'heeb', 4, 7, 9, 8, 0.7777777777777778, true, 'w', false);
INSERT INTO public.figures VALUES ('run 1', 'scan ratio', 1.7, 'x');
INSERT INTO public.partition_metrics VALUES ('run 1', 'S', '2013-01-01', '{"rows": 842}');
INSERT INTO public.quality VALUES ('run 1', 'stream', 'S', '2026-11-27 12:00:00+00', false, 4, '[{"partition": "2013-02-30", "reasons": ["no such day"]}]', NULL);
INSERT INTO public.runs VALUES ('run 1', 'evaluate_history', '2026-11-27 12:00:00+00', '2026-11-27 12:03:00+00', 'success', '2013-01-01', '2013-12-31', 'spark', '{"days": 3}');
INSERT INTO public.streambound_schema VALUES (2);
INSERT INTO public.verdicts VALUES ('run 1', 'q5', '2026-11-27 12:00:00+00', 'SELECT S.A FROM S', 'bounded', 'preserving', 'exact', 1000000000000000000000000000007, NULL, '[{"code": "ok", "message": "fine"}]', '{"arasu": "bounded"}', '[]', NULL);
ALTER TABLE ONLY public.answers
    ADD CONSTRAINT answers_pkey PRIMARY KEY (run_id, query);
ALTER TABLE ONLY public.cache_answers
    ADD CONSTRAINT cache_answers_pkey PRIMARY KEY (run_id, query);
ALTER TABLE ONLY public.cache_benchmarks
    ADD CONSTRAINT cache_benchmarks_pkey PRIMARY KEY (run_id, query, size, contender);
ALTER TABLE ONLY public.figures
    ADD CONSTRAINT figures_pkey PRIMARY KEY (run_id, name);
ALTER TABLE ONLY public.partition_metrics
    ADD CONSTRAINT partition_metrics_pkey PRIMARY KEY (run_id, stream, partition);
ALTER TABLE ONLY public.quality
    ADD CONSTRAINT quality_pkey PRIMARY KEY (run_id, kind, subject);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (run_id, job);
ALTER TABLE ONLY public.streambound_schema
    ADD CONSTRAINT streambound_schema_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.verdicts
    ADD CONSTRAINT verdicts_pkey PRIMARY KEY (run_id, query);
CREATE INDEX ix_answers_evaluated_at ON public.answers USING btree (evaluated_at);
CREATE INDEX ix_cache_answers_evaluated_at ON public.cache_answers USING btree (evaluated_at);
CREATE INDEX ix_cache_benchmarks_benchmarked_at ON public.cache_benchmarks USING btree (benchmarked_at);
CREATE INDEX ix_quality_checked_at ON public.quality USING btree (checked_at);
CREATE INDEX ix_runs_started_at ON public.runs USING btree (started_at);
CREATE INDEX ix_verdicts_checked_at ON public.verdicts USING btree (checked_at);
