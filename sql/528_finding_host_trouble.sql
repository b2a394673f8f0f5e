-- A rank hung, and the kernel of its host says what was wrong there (a mounted file system, a disk,
-- a processor, a port), SLURM that a process there could not be killed, or no rank of its host got
-- a connection to any of several nodes.
-- grain: one row a failure
-- reads: failure_lead, suspect_basis, rank_host, worker_event, threshold, host_without_path
-- case: yes
-- note: Only lines with a time of their own count, for kernel logs that are printed at a job's end
-- note: go back for weeks, and those that say for how long a processor is stuck, no longer than the
-- note: job stood.
create or replace view finding_host_trouble as
with home as (
    select w.job_id, w.attempt, w.file_id,
        case when count(r.host) = count(r.rank) and min(r.host) = max(r.host) then min(r.host) end
            as host,
        list(distinct w.rank) filter (where w.rank is not null) as ranks,
        count(distinct w.host) as told_count,
        count(*) over (partition by w.job_id, w.attempt) = 1 as is_only
    from worker_event as w
    left join rank_host as r on r.job_id = w.job_id and r.attempt = w.attempt and r.rank = w.rank
    group by w.job_id, w.attempt, w.file_id
),
line as (
    select
        f.failure_id, w.pattern, w.utc_ns, w.file_id, w.line_no, w.message,
        case w.pattern when 'slurm_step_unkillable' then 3 when 'kernel_task_blocked' then 2
            else 1 end
            as turn
    from failure_lead as f
    join threshold as p on p.name = 'stall_reach_s'
    left join rank_host as r on r.job_id = f.job_id and r.attempt = f.attempt
        and r.rank = f.culprit_rank
    join worker_event as w on w.job_id = f.job_id and w.attempt = f.attempt
        and ((w.role = 'symptom' and starts_with(w.pattern, 'kernel_'))
            or w.pattern = 'slurm_step_unkillable')
        and (w.stamp_source in ('own', 'wrapper') or w.pattern = 'slurm_step_unkillable'
            or coalesce(try_cast(json_extract_string(w.capture, '$.stuck_s') as double) * 1e9
                <= f.ended_ns
                - f.low_ns,
                false))
            and w.utc_ns
                between least(f.low_ns, f.stall_ns - p.value::bigint * 1000000000) and f.ended_ns
    left join home as h on h.job_id = w.job_id and h.attempt = w.attempt and h.file_id = w.file_id
    where w.pattern <> 'kernel_raid_check'
        and case when f.culprit_rank is null then f.waiting_count = f.rank_count
            and w.pattern = 'kernel_network_trouble'
            and w.utc_ns between f.stall_ns - p.value::bigint * 1000000000 and f.stall_ns
                + 5000000000
            when w.host is not null and r.host is not null then w.host = r.host
                or starts_with(w.host, r.host || '.') else w.rank = f.culprit_rank
                or (w.rank is null and (h.host = r.host or h.ranks = [f.culprit_rank]))
                or (r.host is null and h.told_count = 1
                    and (h.is_only or list_contains(h.ranks, f.culprit_rank))) end
    qualify row_number()
        over (partition by f.failure_id order by turn,
            if(f.culprit_rank is null, -w.utc_ns, w.utc_ns), w.file_id, w.line_no)
            = 1
),
told as (
    select
        f.*,
        case when c.failure_id is not null then 'host_unconnected' else l.pattern end as trouble,
        coalesce(c.file_id, l.file_id) as trouble_file_id,
        case when c.line_no is not null then c.line_no else l.line_no end as trouble_line_no,
        l.message as trouble_words, c.address_count,
        c.failure_id is not null as is_apart,
        trouble in ('kernel_network_trouble', 'host_unconnected') as is_port,
        l.pattern
            in ('kernel_nfs_trouble', 'kernel_lustre_trouble', 'kernel_ceph_trouble',
                'kernel_disk_error')
            as is_mount,
        f.activity in ('checkpoint', 'file_write', 'file_read', 'log_upload', 'evaluation')
            as is_at_files
    from failure_lead as f
    left join line as l on l.failure_id = f.failure_id
    left join host_without_path as c on c.failure_id = f.failure_id and c.is_cut
        and f.crash_pattern is null
)
select
    failure_id,
    'host_trouble' as finding,
    case
        when trouble is null
            or (crash_pattern is not null and crash_pattern <> 'dataloader_timeout')
            or basis = 'killed'
            or basis in (select basis from suspect_basis where has_parted) then 'quiet'
        when activity = 'storage_wait' and not is_port then 'quiet'
        else 'fired'
    end as state,
    case when coalesce(is_port, false) then 'network' else 'infrastructure' end as failure_class,
    trouble as failure_kind,
    case when is_apart or culprit_rank is null then 'innocent' when link_score >= 0.3 or is_port
        or not is_storage_seen then 'undetermined' else 'innocent' end
        as storage_verdict,
    culprit_rank as rank,
    case
        when trouble = 'host_unconnected'
            then 'all ranks of one host, and none of another, could connect to none of '
            || address_count::varchar || ' hosts of AIStore'
        when culprit_rank is null then 'all ranks waited in one collective'
        else 'rank ' || culprit_rank::varchar || ' kept the others waiting' end
        || case when trouble = 'host_unconnected' then ''
            else ', and '
                || case when trouble = 'slurm_step_unkillable' then 'SLURM'
                    when culprit_rank is null then 'the kernel of one host'
                    else 'the kernel of its host' end
                || ' said: '
                || substr(regexp_replace(trouble_words, '^(.*kernel: )?(\[[^\]]*\] *)?', ''), 1,
                    160) end
            as statement,
    [
        {'term': 'trouble', 'file_id': trouble_file_id, 'line_no': trouble_line_no,
        'why': case
            when trouble = 'host_unconnected'
                then 'the first request of that host that got no connection'
            else 'what '
                || case when trouble = 'slurm_step_unkillable' then 'SLURM' else 'the kernel' end
                || ' said of its host' end},
        {'file_id': basis_file_id, 'line_no': basis_line_no,
        'why': 'why rank ' || culprit_rank::varchar || ': ' || basis_words},
        {'term': case when is_apart or culprit_rank is null then 'whole_host'
            when trouble = 'slurm_step_unkillable' and activity in ('unknown', 'step')
                then 'unkillable'
            when link_score >= 0.5 then null when is_mount and is_at_files then 'at_files'
            when trouble = 'kernel_task_blocked' then 'blocked' end}
    ] as supports,
    case when link_score >= 0.3 and trouble is not null
        and not is_apart
            then [{'term': case when link_score >= 0.5 and culprit_rank is not null
                and not (trouble = 'slurm_step_unkillable' and activity in ('unknown', 'step'))
                then 'node_in_trouble' end, 'file_id': link_file_id, 'line_no': link_line_no,
                'why': 'AIStore node ' || link_node_id || ' was in trouble at that moment: '
                    || coalesce(fault_kind, 'chain')}]
        else [] end
        as contradicts
from told
