-- The hosts of a job differ in what they run or how they talk (NCCL or PyTorch version, or one
-- without the network the others use), or several of them lost their connection to one and the same
-- host.
-- grain: one row a failure and rule: node_difference, peer_gone
-- reads: failure_lead, nccl_host
-- case: yes
-- note: A difference is a hint, never a verdict on its own: a job runs for days with it. It stands
-- note: among the hypotheses so that nobody has to look for it. Who reports a lost connection is a
-- note: witness, who is named by most was gone first. It fires where no rank is the culprit. A host
-- note: whose own log ends before it is named, give or take seconds, is surer than one that goes on
-- note: writing; whether it died or was cut off its log cannot tell.
create or replace view finding_nccl_host as
with told as (
    select job_id, attempt, host, rank_count, file_id, line_no,
        unnest(
            [{'kind': 'NCCL version', 'choice': nccl_versions[1]}, {'kind': 'PyTorch version',
                'choice': torch_versions[1]}, {'kind': 'network of NCCL', 'choice': networks[1]}])
            as item
    from nccl_host
),
counted as (
    select *, item.kind as kind, item.choice as choice,
        count(distinct item.choice) over (partition by job_id, attempt, item.kind) as choice_count,
        count(*) over (partition by job_id, attempt, item.kind, item.choice) as same_count
    from told
    where item.choice is not null
),
difference as (
    select
        job_id, attempt, kind,
        string_agg(choice || ' on ' || host, ', ' order by same_count, choice, host) as words,
        arg_min(file_id, (same_count, choice, host)) as file_id,
        arg_min(line_no, (same_count, choice, host)) as line_no,
        arg_max(file_id, (same_count, choice, host)) as other_file_id,
        arg_max(line_no, (same_count, choice, host)) as other_line_no
    from (select * from counted where choice_count > 1
        qualify row_number() over (partition by job_id, attempt, kind, choice order by host) <= 4)
    group by job_id, attempt, kind
    qualify row_number() over (partition by job_id, attempt order by kind) = 1
),
top as (
    select *,
        count(*) filter (where stop_no is not null)
            over (partition by job_id, attempt) as troubled_count
    from nccl_host
    where named_by > 0
    qualify named_by = max(named_by) over (partition by job_id, attempt)
        and count(*) over (partition by job_id, attempt, named_by) = 1
)
select
    f.failure_id,
    'node_difference' as finding,
    case when d.job_id is null then 'quiet' else 'fired' end as state,
    case when d.kind = 'network of NCCL' then 'network' else 'software' end as failure_class,
    replace(lower(coalesce(d.kind, 'none')), ' ', '_') as failure_kind,
    'undetermined' as storage_verdict,
    'the hosts differ in the ' || d.kind || ': ' || d.words as statement,
    [
        {'term': 'differ', 'file_id': d.file_id, 'line_no': d.line_no,
        'why': 'a host of the smaller side'},
        {'file_id': d.other_file_id, 'line_no': d.other_line_no, 'why': 'a host of the larger side'}
    ] as supports
from failure_lead as f
left join difference as d on d.job_id = f.job_id and d.attempt = f.attempt
union all by name
select
    f.failure_id,
    'peer_gone' as finding,
    case when t.job_id is null or t.named_by < 2 or f.culprit_rank is not null then 'quiet'
        when t.trouble_at is null or t.stop_no = 1 then 'fired' else 'quiet' end
        as state,
    'network' as failure_class,
    'host_lost' as failure_kind,
    'undetermined' as storage_verdict,
    t.named_by::varchar || ' hosts lost their connection to host ' || t.host
        || coalesce(' (' || t.ib_meaning || ')', '') || ', which '
        || case when t.trouble_at is null then 'says nothing itself' else 'stopped first' end
            as statement,
    [{'term': 'named', 'file_id': t.file_id, 'line_no': t.line_no,
        'why': 'the first line that names it, or its own first trouble'},
        {'term': case when t.trouble_at is not null then 'trouble'
            when t.last_ns < t.named_ns + 5000000000 then 'silent_since' end}] as supports
from failure_lead as f
left join top as t on t.job_id = f.job_id and t.attempt = f.attempt
