-- The value of a counter on a statistics line, with its node, run and time.
-- grain: one row a counter of a statistics line, copies left out
-- reads: counter_sample, stats_reading
-- public: yes
create or replace view counter_reading as
select
    c.file_id,
    c.line_no,
    s.cluster,
    s.node_id,
    s.node_role,
    s.process_seq,
    c.name as counter,
    c.value,
    s.sampled_at,
    s.utc_ns,
    s.previous_ns,
    s.started_ns
from counter_sample as c
join stats_reading as s on s.file_id = c.file_id and s.line_no = c.line_no
where s.is_first_copy
