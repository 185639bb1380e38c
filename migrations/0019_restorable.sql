-- `pg_restore` and logical replication check rows with an empty search path, in which this check finds no other function.
ALTER FUNCTION execution_is_sound(executions) SET search_path FROM CURRENT;
