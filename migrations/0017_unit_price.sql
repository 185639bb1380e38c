-- What a gateway offers for a compute unit, in millionths of a lamport.
ALTER TABLE fee_payers
    ADD COLUMN compute_unit_price bigint NOT NULL DEFAULT 0 CHECK (compute_unit_price >= 0);
