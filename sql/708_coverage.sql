-- What is available of a case: the output of a rank, the log of an AIStore node, a dump or a stack.
-- grain: one row a failure and thing that is or should be available
-- reads: output_coverage, log_coverage, dump_coverage
-- public: yes
-- case: kept
-- note: state is complete, cut, missing or unknown. Only a line that shows it makes anything
-- note: complete: silence means nothing where the state is another.
create or replace view coverage as
select
    failure_id, job_id, 'rank ' || rank::varchar as "of", 'output' as kind, rank,
    null::varchar as node_id, make_timestamp_ns(started_ns) as started_at,
    make_timestamp_ns(ended_ns) as ended_at, state, because, file_id, line_no
from output_coverage
union all
select
    failure_id, job_id, "of", 'log' as kind, null::integer as rank, node_id,
    make_timestamp_ns(started_ns) as started_at, make_timestamp_ns(ended_ns) as ended_at,
    state, because, file_id, line_no
from log_coverage
union all
select
    failure_id, job_id, "of", kind, rank, null::varchar as node_id,
    make_timestamp_ns(started_ns) as started_at, make_timestamp_ns(ended_ns) as ended_at,
    state, because, file_id, line_no
from dump_coverage
