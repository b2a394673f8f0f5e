-- A span of time in which a rank, host, node, disk, bucket, link or launcher was in a state.
-- grain: one row a subject, state and span
-- reads: node_fault, node_coverage, line_episode, job_episode
-- public: yes
-- note: Each edge lies between its min and its max; null is what no line shows. is_cut: it was on
-- note: when the last line about it was written, and nothing shows that it ended. An activity of a
-- note: rank is what it did when its peers began to wait.
create or replace view episode as
with last_line as (
    select cluster, max(ended_ns) as ended_ns from node_coverage group by cluster
),
every as (
    select
        'node' as subject_kind, n.node_id as subject, n.cluster, n.fault_kind as state,
        n.started_ns as begin_min_ns, n.known_ns as begin_max_ns,
        greatest(n.known_ns, least(epoch_ns(n.last_sign_at), n.ended_ns)) as end_min_ns,
        epoch_ns(n.ended_at) as end_max_ns,
        n.ended_at is null and coalesce(n.ended_ns >= c.ended_ns, true) as is_cut, n.file_id,
        n.line_no, n.text
    from node_fault as n
    left join last_line as c on c.cluster = n.cluster
    union all by name
    from line_episode
    union all by name
    from job_episode
)
select
    subject_kind, subject, cluster, job_id, attempt, state,
    make_timestamp_ns(begin_min_ns) as begin_min_at,
    make_timestamp_ns(begin_max_ns) as begin_max_at,
    make_timestamp_ns(end_min_ns) as end_min_at,
    make_timestamp_ns(end_max_ns) as end_max_at,
    is_cut, file_id, line_no, text
from every
