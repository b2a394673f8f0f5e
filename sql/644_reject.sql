-- A line that could not be understood, with the reason.
-- grain: one row a rejected line
-- reads: rejected_line, ingested_file
-- public: yes
create or replace view reject as
select
    f.path,
    r.file_id,
    r.line_no,
    r.reason,
    r.text,
    f.cluster,
    f.node_id,
    f.job_id
from rejected_line as r
join ingested_file as f on f.file_id = r.file_id
