-- A key acts for the wallet that its holder registered it for. Keys that were taken into use without a registration wait
-- for one.
UPDATE api_keys SET proven = false WHERE registered_at IS NULL;
ALTER TABLE api_keys ADD CONSTRAINT api_keys_proven_by_registration CHECK (NOT proven OR registered_at IS NOT NULL);
