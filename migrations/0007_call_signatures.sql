-- Results that are signed for their call.

-- Over the text of the call (`crtx_protocol::call_text`). Null unless the execution demands it; then it is what
-- settles. A check of its own: `execution_is_sound` would be repeated as a whole for one line.
ALTER TABLE executions
    ADD COLUMN result_call_signature bytea CHECK (octet_length(result_call_signature) = 64);
