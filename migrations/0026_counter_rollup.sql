-- The field's word for adding notes to counters.
ALTER FUNCTION fold_list_notes(integer) RENAME TO roll_up_list_notes;
