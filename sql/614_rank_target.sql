-- What a rank of a failure met at an AIStore node, beside what the other ranks met there.
-- grain: one row a failure, rank and node
-- reads: rank_request
-- public: yes
-- note: Client logs tell of trouble, seldom of success: request_count counts the requests a line
-- note: speaks of. other_rank_count says how many other ranks met the same node; is_only_rank:
-- note: nobody else did.
create or replace view rank_target as
with met as (
    select
        failure_id, cluster, node_id, rank,
        count(*) as request_count,
        count(*) filter (where outcome in ('error', 'short', 'missing', 'chained')) as error_count,
        count(*) filter (where outcome = 'retry') as retry_count,
        max(retry_no) as top_retry,
        max(retry_limit) as retry_limit,
        max(wait_s) as longest_wait_s,
        min(from_ns) as first_ns,
        max(to_ns) as last_ns,
        min(file_id) as file_id,
        arg_min(line_no, (file_id, line_no)) as line_no
    from rank_request
    where node_id is not null
    group by failure_id, cluster, node_id, rank
)
select
    m.failure_id,
    m.cluster,
    m.rank,
    m.node_id,
    m.request_count,
    m.error_count,
    m.retry_count,
    m.top_retry,
    m.retry_limit,
    m.longest_wait_s,
    count(*) over same - 1 as other_rank_count,
    round((sum(m.error_count) over same - m.error_count) / nullif(count(*) over same - 1, 0), 2)
        as other_error_count,
    count(*) over same = 1 as is_only_rank,
    make_timestamp_ns(m.first_ns) as first_at,
    make_timestamp_ns(m.last_ns) as last_at,
    m.file_id,
    m.line_no
from met as m
window same as (partition by m.failure_id, m.cluster, m.node_id)
