-- A run of ingest: when, how it ended, and what it read.
-- grain: one row a run
-- reads: ingest_log
-- public: yes
create or replace view ingest_run as
select
    run_id,
    started_at,
    ended_at,
    outcome,
    file_count,
    new_file_count,
    byte_count,
    line_count,
    event_count,
    reject_count,
    error,
    aiscorr_version
from ingest_log
