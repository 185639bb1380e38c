-- Lists of all executions of a caller, or of a creator, in the order of their pages. Without a status or an agent in the
-- question, a page is one range of these indexes, and so are the rows at both ends of a time range. The indexes by status
-- need five ranges for the same.
--
-- A question uses them only if it says that the owner is not empty: the condition of the indexes. A question with a
-- status never does. So no plan reads all executions of an owner to find those of a rare status.

CREATE INDEX execution_list_by_caller_and_time
    ON execution_list (caller, initiated_at DESC, execution_id DESC) WHERE caller <> '';
CREATE INDEX execution_list_by_creator_and_time
    ON execution_list (creator, initiated_at DESC, execution_id DESC, record DESC) WHERE creator <> '';
