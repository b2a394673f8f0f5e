-- A span that lines show by themselves: a mountpath of an AIStore node that was faulted or
-- disabled, a host that was lost, or that its kernel reports to be in trouble, and its links and
-- devices.
-- grain: one row a mountpath of a node and span, or a job attempt, host and kind of line
-- reads: ais_event, worker_event
-- stored: yes
-- note: A mountpath is in it until a line reports it enabled again, which is when it ended at the
-- note: latest; without such a line its end is not known. The state of a host is lost where the
-- note: scheduler, the kernel or the power took it away, else the pattern of the lines. No line
-- note: shows when such trouble ends.
create or replace view line_episode as
with sign as (
    select
        cluster, node_id || ' ' || mountpath as subject, utc_ns, file_id, line_no, text,
        node_effect, node_effect <> 'mountpath_enabled' as is_trouble,
        count(*) filter (where not is_trouble) over (
            partition by cluster, node_id, mountpath order by utc_ns, file_id, line_no
            rows between unbounded preceding and 1 preceding
        ) as span_no
    from ais_event
    where mountpath is not null and node_id is not null
        and node_effect in ('mountpath_disabled', 'disk_fault', 'disk_stuck', 'mountpath_enabled')
),
every as (
    select
        'disk' as subject_kind, subject, cluster,
        case
            when bool_or(node_effect = 'mountpath_disabled') then 'disabled'
            when bool_or(node_effect = 'disk_fault') then 'faulted'
            else 'stuck'
        end as state,
        min(utc_ns) filter (where is_trouble) as begin_max_ns,
        max(utc_ns) filter (where is_trouble) as end_min_ns,
        max(utc_ns) filter (where not is_trouble) as end_max_ns,
        arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
        arg_min(line_no, (utc_ns, file_id, line_no)) as line_no,
        arg_min(text, (utc_ns, file_id, line_no)) as text
    from sign
    group by cluster, subject, span_no
    having bool_or(is_trouble)
    union all by name
    select
        case
            when pattern in ('kernel_network_trouble', 'nccl_ib_port_down', 'nccl_ib_port_event')
                then 'link'
            else 'host'
        end as subject_kind,
        split_part(host, '.', 1) as subject, job_id, attempt,
        case
            when pattern in ('slurm_node_failure', 'host_power_lost', 'kernel_panic') then 'lost'
            else pattern
        end as state,
        arg_min(utc_ns, (utc_ns, file_id, line_no)) as begin_min_ns,
        arg_min(latest_ns, (utc_ns, file_id, line_no)) as begin_max_ns,
        max(utc_ns) as end_min_ns,
        arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
        arg_min(line_no, (utc_ns, file_id, line_no)) as line_no,
        arg_min(text, (utc_ns, file_id, line_no)) as text
    from worker_event
    where host is not null and role in ('cause', 'symptom') and regexp_matches(pattern,
        '^(kernel_|gpu_xid_|amdgpu_|host_|slurm_node_failure|nccl_ib_port)')
    group by job_id, attempt, split_part(host, '.', 1), pattern
)
select
    subject_kind, subject, cluster, job_id, attempt, state, begin_min_ns, begin_max_ns, end_min_ns,
    end_max_ns, end_max_ns is null as is_cut, file_id, line_no, text
from every
