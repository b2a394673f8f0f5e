-- What the service removed because it was old: when, what, and how many rows.
-- grain: one row a removal and kind of rows
-- reads: retention_log
-- public: yes
-- note: kind is counters, events or failures; before_at is the moment up to which rows were old.
create or replace view retention_run as
select
    removed_at,
    kind,
    before_at,
    row_count,
    file_count,
    aiscorr_version
from retention_log
