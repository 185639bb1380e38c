-- Counters of an agent's days, from the records on chain, for the last 40 days. `metric`: 0 failed by the agent, 1
-- disputed, 2 upheld disputes, 99 completed without a time that the gateway measured, 100 and more: completed with an
-- execution time in that class. A class is 5 % wide.
CREATE FUNCTION time_class(ms bigint) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ms <= 0 THEN 100 ELSE 101 + floor(ln(ms::double precision) / ln(1.05::double precision)) END::smallint;

CREATE FUNCTION kept_days() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 40;

CREATE TABLE agent_days (
    agent  text NOT NULL,
    day    date NOT NULL,
    metric smallint NOT NULL,
    n      bigint NOT NULL,
    -- What the platform and the creator received.
    fees   numeric NOT NULL,
    earned numeric NOT NULL,
    PRIMARY KEY (agent, day, metric)
) WITH (fillfactor = 80);
CREATE INDEX agent_days_by_day ON agent_days (day);

-- Of all agents.
CREATE TABLE market_days (
    day       date PRIMARY KEY,
    completed bigint NOT NULL,
    failed    bigint NOT NULL,
    disputed  bigint NOT NULL,
    earned    numeric NOT NULL,
    fees      numeric NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE agent_day_notes (
    agent  text NOT NULL,
    day    date NOT NULL,
    metric smallint NOT NULL,
    n      bigint NOT NULL,
    fees   numeric NOT NULL,
    earned numeric NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- What one record counts.
CREATE FUNCTION day_metrics(
    status smallint, agents_failure boolean, dispute_count smallint, settled_by smallint, execution_time_ms bigint,
    platform_amount bigint, creator_amount bigint
) RETURNS TABLE (metric smallint, fees bigint, earned bigint) LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN settled_by = settler('gateway') THEN time_class(execution_time_ms) ELSE 99::smallint END,
           platform_amount, creator_amount WHERE is_settled(status)
    UNION ALL SELECT 0::smallint, 0, 0 WHERE agents_failure
    UNION ALL SELECT 1::smallint, 0, 0 WHERE is_settled(status) AND dispute_count > 0
    UNION ALL SELECT 2::smallint, 0, 0 WHERE status = record_status('overturned');
END;

-- What so many of one metric are.
CREATE FUNCTION day_counts(metric smallint, n bigint)
RETURNS TABLE (completed bigint, failed bigint, disputed bigint) LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT (metric >= 99)::int * n, (metric = 0)::int * n, (metric = 1)::int * n;
END;
