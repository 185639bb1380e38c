-- The connection that leads the indexers, and its last sign of life. A backend is named by its number and by when it began,
-- because numbers come again.
CREATE TABLE indexer_leader (
    only_row      boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    pid           integer NOT NULL,
    backend_start timestamptz NOT NULL,
    beat_at       timestamptz NOT NULL DEFAULT now()
);
