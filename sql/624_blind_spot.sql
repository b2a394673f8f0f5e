-- What could not be seen for a failure, what it hides, and the command that would fetch it.
-- grain: one row a failure and blind spot
-- reads: failure, failure_lead, rank_state, ais_blind_spot, missing_worker_file, torch_release,
-- reads: capture_setting, failure_counter_delta, failure_node, failure_comeback, clock_blind_spot,
-- reads: fr_failure, fr_dump, failure_signal, source_file, stack_blind_spot, job_cluster, aged_out
-- public: yes
-- case: kept
-- note: The rank whose dump is missing while all others wait alike is a suspect, not proven: the
-- note: entries of the others stay good. Of what was removed because it was old, counters and
-- note: events are missed in the window and in a span of its length before and after it; of the job
-- note: all is.
create or replace view blind_spot as
with base as (
    select
        f.failure_id, f.job_id, f.attempt, f.failure_class, f.failure_kind,
        l.culprit_rank, l.activity, l.crash_pattern, l.absent_count, l.absent_ranks, l.basis,
        l.rank_count, l.timeout_count, l.cluster,
        l.hang_start_ns is not null and not l.is_world_stated as may_have_more
    from failure as f
    join failure_lead as l on l.failure_id = f.failure_id
),
capture as (
    select b.failure_id,
        string_agg(c.variable || '=' || c.value, ' ' order by c.variable) as settings,
        max(t.release_no) as release_no
    from base as b
    left join torch_release as t on t.job_id = b.job_id
    join capture_setting as c
        on coalesce(t.release_no, 208) between c.since_release_no and c.until_release_no
    group by b.failure_id
),
culprit as (
    select r.failure_id, r.rank, r.host from rank_state as r where r.role = 'culprit'
        qualify row_number() over (partition by r.failure_id order by r.rank) = 1
),
around as (
    select
        f.failure_id, c.cluster,
        2 * epoch_ns(f.window_started_at) - epoch_ns(f.window_ended_at) as low_ns,
        2 * epoch_ns(f.window_ended_at) - epoch_ns(f.window_started_at) as high_ns
    from failure as f
    join job_cluster as c on c.job_id = f.job_id and c.attempt = f.attempt
),
aged as (
    select
        w.failure_id, a.path, a.removed_at,
        if(a.table_name = 'counter_sample',
            {'what': 'counters of AIStore',
                'hides': 'how they grew around the failure is not known'},
            {'what': 'events of AIStore', 'hides': 'a fault that they reported is not seen'})
            as loss
    from around as w
    join aged_out as a on a.cluster = w.cluster
        and a.table_name in ('counter_sample', 'ais_line', 'stats_line')
        and a.started_ns < w.high_ns and a.ended_ns > w.low_ns
    union all
    select f.failure_id, a.path, a.removed_at,
        {'what': 'worker logs of the job', 'hides': 'what their ranks did is not seen'}
    from failure as f
    join aged_out as a on a.job_id = f.job_id
),
every as (
    select failure_id, position, what, why, command from ais_blind_spot
    union all
    select failure_id, 1, 'ranks that no line names',
        'no line says how many ranks the job has; one that kept the others waiting may be among '
            'them',
        'aiscorr ingest <the output of all ranks of the job>'
    from base as b
    where failure_class = 'undetermined' and may_have_more
        and not exists (from fr_dump as d where d.job_id = b.job_id)
    union all
    select failure_id, 2, 'what ended the job', 'no line that was read names a first cause',
        'aiscorr ingest <the output of every process, and the logs of the scheduler and of the '
            'hosts'' kernels>'
    from base where failure_kind = 'no_cause_in_logs'
    union all
    select failure_id, 3, 'worker log ' || file_name,
        'the ranks of that node may be the ones that never entered the collective',
        'aiscorr ingest ' || path
    from missing_worker_file
    qualify count(*) over (partition by failure_id) <= 3
    union all
    select failure_id, 3,
        count(*)::varchar || ' worker logs from ' || arg_min(file_name, worker_node_no) || ' to '
            || arg_max(file_name, worker_node_no),
        'the ranks of those nodes may be the ones that never entered the collective',
        'aiscorr ingest ' || regexp_replace(min(path), '/[^/]*$', '')
            || '   # with those logs in it'
    from missing_worker_file
    group by failure_id
    having count(*) > 3
    union all
    select failure_id, 4,
        'ranks ' || array_to_string(absent_ranks[1:12], ', ')
            || case when absent_count > 12 then ' and ' || (absent_count - 12)::varchar || ' more'
                else '' end,
        'no line of them is available: a rank that hung and a rank whose log is missing look alike',
        'aiscorr ingest <the logs of the other nodes>'
    from base
    where absent_count > 0 and not starts_with(coalesce(failure_kind, ''), 'cancelled')
        and not (absent_count = 1
            and coalesce(basis = 'silent' and absent_ranks[1] = culprit_rank, false))
    union all
    select b.failure_id, 5, 'what rank ' || b.culprit_rank::varchar || ' was doing',
        'it left no error, no stack and no telling last word',
        'py-spy dump --pid <pid of rank ' || b.culprit_rank::varchar || '>'
            || '   # ' || coalesce('on ' || c.host || ', ', '') || 'while it hangs, next time'
    from base as b
    left join culprit as c on c.failure_id = b.failure_id
    where b.culprit_rank is not null and b.crash_pattern is null
        and b.failure_kind is distinct from 'killed_by_signal'
        and b.failure_class is distinct from 'collective_mismatch'
        and coalesce(b.activity, 'unknown') in ('unknown', 'step', 'epoch_end', 'initialisation')
    union all
    select b.failure_id, 5, 'who ended rank ' || b.culprit_rank::varchar,
        'its own output ends without a reason; the kernel or the scheduler may have one',
        'dmesg -T | grep -iE ''out of memory|killed process'''
            || coalesce('   # on ' || c.host, '')
    from base as b
    left join culprit as c on c.failure_id = b.failure_id
    where b.culprit_rank is not null and b.failure_kind = 'killed_by_signal'
    union all
    select b.failure_id, 6, 'what each rank had enqueued',
        'no Flight Recorder dump is available, and the logs do not print it of every rank; '
            'settings for the next run'
            || coalesce(' (PyTorch ' || (c.release_no // 100)::varchar || '.'
                || (c.release_no % 100)::varchar || ')',
                ''),
        'export ' || c.settings || '   # for the next run'
    from base as b
    join capture as c on c.failure_id = b.failure_id
    where b.timeout_count > 0
        and exists (from failure_signal as s
            where s.job_id = b.job_id and s.attempt = b.attempt and s.signal = 'timeout'
                and not starts_with(s.pattern, 'gloo'))
        and exists (from rank_state as r
            where r.failure_id = b.failure_id and r.last_enqueued is null)
        and not exists (select 1 from fr_dump as d where d.job_id = b.job_id and d.state = 'used')
    union all
    select
        f.failure_id, 6, 'the Flight Recorder dump of rank ' || d.rank::varchar,
        'the others wait alike in ' || coalesce(d.op_type, 'a collective')
            || coalesce(' number ' || d.seq_num::varchar, '')
            || '; this rank is a suspect, and only its dump, stack or log can prove it',
        'aiscorr ingest <dump of rank ' || d.rank::varchar
            || '>   # or py-spy dump --pid <its pid>, while it hangs'
    from failure as f
    join (
        select job_id, attempt, op_type, seq_num, unnest(missing_ranks) as rank
        from fr_failure
        where outcome = 'dump_missing'
    ) as d on d.job_id = f.job_id and d.attempt = f.attempt
    union all
    select
        f.failure_id, 6, 'the dump ' || regexp_extract(d.path, '([^/!]+)$', 1),
        case d.state
            when 'earlier_run' then 'its times are those of an earlier run'
            when 'no_rank' then 'neither its name nor its groups tell the rank'
            else coalesce(d.problem, 'it cannot be read')
        end,
        'aiscorr ingest <the dump of this run>'
    from failure as f
    join fr_dump as d
        on d.job_id = f.job_id and d.state in ('earlier_run', 'no_rank', 'unreadable')
    union all
    select failure_id, 5, what, why, command from stack_blind_spot
    union all
    select
        failure_id, 7, 'removed ' || loss.what,
        'rows of ' || count(distinct path)::varchar
            || case when count(distinct path) = 1 then ' file' else ' files' end
            || ' had been removed because they were old ([serve.retention], last on '
            || strftime(max(removed_at)::timestamp, '%Y-%m-%d') || '): ' || loss.hides,
        'aiscorr --db past.duckdb ingest ' || min(path)
            || case when count(distinct path) > 1 then '   # and '
                || (count(distinct path) - 1)::varchar || ' more: from aged_out' else '' end
    from aged
    group by failure_id, loss
    union all
    select b.failure_id, 2,
        'the rest of ' || count(*)::varchar || case when count(*) = 1 then ' file' else ' files' end
            || ' that ended early, ' || regexp_extract(min(s.path), '[^/]*$')
            || case when count(*) > 1 then ' and so on' else '' end,
        'compressed data stopped before its end (a copy that was cut off); what came before was '
            'read',
        'aiscorr ingest ' || regexp_replace(min(s.path), '!.*$', '')
            || '   # after fetching it again; all: aiscorr query "from source_file where problem '
                'is not null"'
    from base as b
    join source_file as s on (s.job_id = b.job_id or s.cluster = b.cluster)
        and starts_with(s.problem, 'ends early')
    group by b.failure_id
    union all
    select distinct b.failure_id, 7, 'counters of ' || d.node_id || ' around the window',
        'a stretch between its statistics lines is missing (kill, restart or cut log), so counts '
            'there are a lower bound',
        'aiscorr ingest <the log folder of ' || d.node_id || ', copied from its host>'
    from base as b
    join failure_node as n on n.failure_id = b.failure_id
    join failure_counter_delta as d on d.failure_id = b.failure_id and d.node_id = n.node_id
        and not d.is_complete
    where not exists (from failure_comeback as c
        where c.failure_id = b.failure_id and c.node_id = n.node_id and c.back_ns is not null)
    union all
    select failure_id, position, what, why, command from clock_blind_spot
    union all
    select failure_id, 9, 'whether the fabric works at all',
        'the logs show that nobody finished, not why',
        'srun --ntasks-per-node=1 all_reduce_perf -b 8M -e 1G -f 2 -g 8   # nccl-tests, first on '
            'half of the nodes'
    from base where failure_class = 'gpu_fabric'
)
select failure_id, position, what, why, command from every
