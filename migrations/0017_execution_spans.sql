-- A second level of counters by time, for callers and creators with very many executions: each span sums up to 64 chunks.
-- A time range reads the rows of two chunks, the chunks of two spans, and all spans between them. So chunks can be small:
-- most of the time of a count was spent on the rows of the two chunks in which the range begins and ends.

CREATE TABLE execution_spans (
    role      smallint NOT NULL,
    owner     text NOT NULL,
    agent     text NOT NULL,
    -- Where its first chunk begins. It ends where the next span begins.
    start     timestamptz NOT NULL,
    pending   bigint NOT NULL,
    running   bigint NOT NULL,
    completed bigint NOT NULL,
    failed    bigint NOT NULL,
    disputed  bigint NOT NULL,
    PRIMARY KEY (role, owner, agent, start)
) WITH (fillfactor = 70);

-- Chunks of a key from which it has spans, and from which a span is divided. A new span has half as many.
CREATE FUNCTION span_limit() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 64;

-- As in 0012, with smaller chunks.
CREATE OR REPLACE FUNCTION chunk_limit() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 256;

-- Sums the spans of changed chunks again, and divides those that have too many. Chunks are written by one transaction at
-- a time, and none is removed alone.
CREATE FUNCTION sum_changed_chunks() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    INSERT INTO execution_spans (role, owner, agent, start, pending, running, completed, failed, disputed)
    SELECT c.role, c.owner, c.agent, min(c.start), sum(c.pending), sum(c.running), sum(c.completed), sum(c.failed),
           sum(c.disputed)
    FROM (SELECT DISTINCT n.role, n.owner, n.agent, s.start
          FROM changed n
          LEFT JOIN LATERAL (
              SELECT start FROM execution_spans s
              WHERE s.role = n.role AND s.owner = n.owner AND s.agent = n.agent AND s.start <= n.start
              ORDER BY start DESC LIMIT 1) AS s ON true
          -- A key without spans can get the first ones only when it has more chunks.
          WHERE s.start IS NOT NULL OR TG_OP = 'INSERT') AS span
    LEFT JOIN LATERAL (
        SELECT s.start FROM execution_spans s
        WHERE s.role = span.role AND s.owner = span.owner AND s.agent = span.agent AND s.start > span.start
        ORDER BY s.start LIMIT 1) AS next ON true
    CROSS JOIN LATERAL (
        SELECT c.*, row_number() OVER (ORDER BY c.start) - 1 AS place, count(*) OVER () AS chunks
        FROM execution_chunks c
        WHERE c.role = span.role AND c.owner = span.owner AND c.agent = span.agent
          AND c.start >= COALESCE(span.start, '-infinity') AND c.start < COALESCE(next.start, 'infinity')) AS c
    WHERE span.start IS NOT NULL OR c.chunks >= span_limit()
    GROUP BY c.role, c.owner, c.agent,
             CASE WHEN c.chunks >= span_limit() THEN c.place / (span_limit() / 2) ELSE 0 END, span.start
    ON CONFLICT (role, owner, agent, start) DO UPDATE SET
        pending = excluded.pending, running = excluded.running, completed = excluded.completed,
        failed = excluded.failed, disputed = excluded.disputed;
    RETURN NULL;
END
$$;
CREATE TRIGGER sum_inserted AFTER INSERT ON execution_chunks
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION sum_changed_chunks();
CREATE TRIGGER sum_updated AFTER UPDATE ON execution_chunks
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION sum_changed_chunks();

CREATE FUNCTION forget_spans() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM execution_spans;
    RETURN NULL;
END
$$;
CREATE TRIGGER forget_spans AFTER TRUNCATE ON execution_chunks FOR EACH STATEMENT EXECUTE FUNCTION forget_spans();

-- Chunks of the new size, and their spans.
TRUNCATE execution_chunks;
DO $$
DECLARE
    v_key record;
BEGIN
    FOR v_key IN SELECT role, owner, agent FROM execution_totals
                 WHERE pending + running + completed + failed + disputed >= chunk_limit() LOOP
        PERFORM divide_execution_chunk(v_key.role, v_key.owner, v_key.agent, '-infinity', 'infinity');
    END LOOP;
END
$$;
