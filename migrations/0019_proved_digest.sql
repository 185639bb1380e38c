-- A digest is stated only for slots that the process that leads has proved itself.

-- The process that read the accounts of `mirror_final_accounts` as a whole. Another one changes nothing.
ALTER TABLE mirror_digest ADD COLUMN filled_by uuid;

-- The version before also stated digests for slots that it had not proved.
UPDATE mirror_digest SET slot = NULL;
DELETE FROM mirror_digest_history;
