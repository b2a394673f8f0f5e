-- How strongly a culprit's trouble is tied to a node of AIStore: by a chain, a fault, requests
-- without an answer, silent repeats, or an error that names both.
-- grain: one row a failure, culprit rank, node and kind of tie
-- reads: failure_case, job_cluster, job, node_fault, ais_event, link_by_chain, link_by_fault,
-- reads: unanswered_node, named_error, culprit_cause, storage_relation, batch_item, fault_kind,
-- reads: worker_file, clock, node_coverage, failure_coverage, threshold, link_term
-- case: yes
-- note: A client that is refused repeats silently, so refusals at the pace of one client's repeats,
-- note: which begin when a rank without a word stops and go on while the others wait, are its own
-- note: where they are of its bucket and only a repeat that was due later is missing at the end;
-- note: the more so where its stack sleeps between tries. urllib3 repeats what was answered with
-- note: 429 or 503 at once and then after pauses that double (AIStore's SDK 2.0: 6, 12, 24, 48 s):
-- note: three such pauses in a row, each 1 s or longer, are no chance. A node that hangs breaks no
-- note: batch at once, and a fault that was over when a hang began gives way to one of the node
-- note: that lasted. A clock that is a guess is none where the logs of the cluster that the job
-- note: names are of that quarter of an hour alone: no other zone would bring the two together.
-- note: score is the strength of the tie times the factors of its terms.
create or replace view storage_link as
with guessed as (
    select f.failure_id
    from failure_case as f
    anti join (
        select c.job_id, c.attempt, min(v.started_ns) as started_ns, max(v.ended_ns) as ended_ns
        from job_cluster as c join node_coverage as v on v.cluster = c.cluster
        where c.basis in ('node', 'endpoint')
        group by c.job_id, c.attempt
    ) as v on v.job_id = f.job_id and v.attempt = f.attempt
        and v.started_ns > f.stall_ns - 900000000000 and v.ended_ns < f.stall_ns + 900000000000
    where f.job_id in (select w.job_id from worker_file as w join clock as k
            on k.file_id = w.file_id where w.kind = 'worker_log' and k.method = 'assumed')
),
unexplained as (
    select failure_id, rank, node_id, kind as link_kind, null as fault_id, kind as fault_kind,
        'unanswered' as term, coalesce(announced_file_id, file_id) as file_id,
        coalesce(announced_line_no, line_no) as line_no, file_id as client_file_id,
        line_no as client_line_no
    from (select *,
        case when announced_line_no is null then 'unanswered' else 'unreached' end as kind
        from unanswered_node)
    where node_id is not null
    union all
    select failure_id, rank, node_id, link_kind, fault_id, fault_kind, 'named_error', file_id,
        line_no, client_file_id, client_line_no
    from named_error
),
moment as (
    select cluster, node_id, bucket, utc_ns, file_id, line_no
    from ais_event
    where node_effect = 'rejecting'
    qualify coalesce(utc_ns - lag(utc_ns) over (partition by cluster, node_id, bucket
        order by utc_ns, file_id, line_no) > 1000000000, true)
),
paused as (
    select *, (lead(utc_ns) over same - utc_ns) / 1e9 as pause_s,
        (utc_ns - lag(utc_ns) over same) / 1e9 as before_s
    from moment
    window same as (partition by cluster, node_id, bucket order by utc_ns)
),
numbered as (
    select *,
        sum(if(pause_s between 1.9 * before_s and 2.1 * before_s, 0, 1))
            over (partition by cluster, node_id, bucket order by utc_ns) as series_no
    from paused
    where pause_s is not null
),
backoff as (
    select cluster, node_id, bucket, min(utc_ns) as started_ns, max(pause_s) as last_s,
        max(utc_ns) + (last_s * 1e9)::bigint as ended_ns,
        arg_min(file_id, utc_ns) as file_id, arg_min(line_no, utc_ns) as line_no
    from numbered
    group by cluster, node_id, bucket, series_no
    having count(*) >= 3 and min(pause_s) >= 1
),
refused as (
    select f.failure_id, u.witness_rank as rank, b.node_id, n.fault_id, n.fault_kind,
        k.weight * c.certainty as strength,
        case when u.activity_witness = 'stack'
            and regexp_matches(u.activity_text, '(?i)back_?off|sleep_for_retry|tenacity')
                then ['sleeps'] else [] end as terms,
        (f.stall_ns - b.started_ns) / 1e9 as lag_s, b.file_id, b.line_no,
        coalesce(u.activity_file_id, u.basis_file_id) as client_file_id,
        coalesce(u.activity_line_no, u.basis_line_no) as client_line_no
    from failure_case as f
    join culprit_cause as u on u.failure_id = f.failure_id and u.culprit_count = 1
        and u.crash_pattern is null
        and coalesce(u.activity, 'unknown')
            in ('unknown', 'step', 'epoch_end', 'initialisation', 'storage_wait', 'data_loading',
                'worker_wait')
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
    join threshold as t on t.name = 'fault_slack_s'
    join backoff as b on b.cluster = c.cluster
        and b.started_ns between f.stall_ns - t.value * 1e9 and f.stall_ns + t.value * 1e9
        and f.spoke_ns between b.ended_ns and b.ended_ns + (2 * b.last_s + t.value) * 1e9
    join node_fault as n on n.cluster = b.cluster and n.node_id = b.node_id
        and n.fault_kind = 'rejecting' and b.started_ns between n.started_ns and n.ended_ns
    join fault_kind as k on k.fault_kind = n.fault_kind
    join job as j on j.job_id = f.job_id and j.attempt = f.attempt
        and regexp_matches(j.data_source,
            '(^|[^\w./:-])' || regexp_escape(b.bucket) || '($|[^\w.-])')
),
every as (
    select * from link_by_chain
    union all by name
    select *, true as is_suspect_known from link_by_fault
    union all by name
    select q.failure_id, q.rank, q.node_id, q.link_kind, q.fault_id, q.fault_kind,
        greatest(r.chain_weight,
            case when q.link_kind = 'error_line'
                and (starts_with(u.crash_pattern, 'fs_') or u.crash_class = 'data'
                    or u.crash_pattern in ('python_exception', 'file_missing'))
                    then 1.0
                else 0.0 end)
            * k.weight as strength,
        0.0 as lag_s, q.file_id, q.line_no, q.client_file_id, q.client_line_no,
        true as is_suspect_known, [q.term] as terms
    from unexplained as q
    join fault_kind as k on k.fault_kind = q.fault_kind
    join culprit_cause as u on u.failure_id = q.failure_id and u.witness_rank = q.rank
    join storage_relation as r on r.failure_id = u.failure_id and r.rank is not distinct from u.rank
    union all by name
    select *, 'backoff' as link_kind, true as is_suspect_known from refused
),
quick as (
    select distinct e.failure_id, e.rank
    from every as e
    join batch_item as b on b.file_id = e.file_id and b.line_no = e.line_no
    join threshold as t on t.name = 'hung_wait_s' and b.ended_ns - b.began_ns < t.value * 1e9
    where e.link_kind in ('chain_wid', 'chain_count') and e.fault_id is null
),
timed as (
    select e.* replace (
        case when s.failure_id is not null and e.link_kind
            in ('chain_time', 'chain_count', 'fault_time', 'stale_membership', 'backoff')
            or (v.soon_count > 0 and k.weight < 0.9 and e.link_kind in ('chain_time', 'fault_time'))
                then list_append(e.terms, 'doubted_clock') else e.terms end as terms),
        coalesce(n.ended_ns < f.hang_start_ns, false) as is_over,
        coalesce(n.ended_ns >= f.hang_start_ns, false) as is_lasting
    from every as e
    join failure_case as f on f.failure_id = e.failure_id
    left join guessed as s on s.failure_id = f.failure_id
    left join node_fault as n on n.fault_id = e.fault_id
    left join fault_kind as k on k.fault_kind = e.fault_kind
    left join failure_coverage as v on v.failure_id = e.failure_id
    where not (e.link_kind = 'fault_time' and e.fault_kind = 'hung' and exists (
        from quick as q where q.failure_id = e.failure_id and q.rank is not distinct from e.rank))
),
scored as (
    select *,
        least(0.98, strength * coalesce(
            (select product(k.factor) from link_term as k where list_contains(t.terms, k.term)), 1
        ))::double as score
    from timed as t
),
lasting as (
    select distinct s.failure_id, s.rank, s.node_id
    from scored as s
    join threshold as t on t.name = 'link_score' and s.score >= t.value
    where s.is_lasting
)
select
    failure_id, rank, node_id, link_kind, chain_id, fault_id, fault_kind, score,
    round(lag_s::double, 3) as lag_s, file_id, line_no, client_file_id, client_line_no,
    is_suspect_known, terms
from scored as s
where not (s.is_over and exists (
    from lasting as l where l.failure_id = s.failure_id and l.rank is not distinct from s.rank
        and l.node_id = s.node_id))
