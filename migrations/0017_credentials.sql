-- Reads are asked for a wallet. Whether a credential holds is looked up before them, by one rule for all requests.
DROP VIEW keys_in_use;
DROP VIEW sessions_in_use;
