-- The hosts of a job differ in what they run or how they talk: NCCL or PyTorch version, or one
-- without the network the others use.
-- grain: one row a failure
-- reads: failure_lead, nccl_host
-- case: yes
-- note: A difference is a hint, never a verdict on its own: a job runs for days with it. It stands
-- note: among the hypotheses so that nobody has to look for it.
create or replace view finding_node_difference as
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
