-- The collective that a failed attempt stood in: the earliest one to be waited for, with its
-- process group.
-- grain: one row a failed attempt with a collective time-out, or whose Flight Recorder dumps show
-- grain: it waiting
-- reads: failure_signal, group_wait, failed_attempt, fr_failure, last_step, file_progress
-- case: yes
-- note: Of waits with several numbers in one group the lowest is told (is_split).
-- note: What the watchdog printed goes first; Flight Recorder dumps fill in what gloo and logs
-- note: without counters leave out, their place_no stands for the line. Hang start is the line's
-- note: time minus `ran for`; where that is not printed, minus the time-out; where the line has no
-- note: stamp of its own and a dump shows the same call made a little earlier, that moment
-- note: (is_start_dumped). is_spoke_inferred: nothing but the time-out tells it. Who waits made all
-- note: the steps its file shows before: where nothing is stamped behind the last of them, the
-- note: time-out ran from there.
create or replace view stuck_collective as
with wait as (
    select
        s.job_id, s.attempt, s.rank, s.seq_num, s.op_type, s.numel_in, s.numel_out, s.timeout_ms,
        s.ran_for_ms, s.collective, s.user_location,
        regexp_extract(s.process_group, '^([^( ]+)', 1) as guid,
        s.process_group,
        case
            when s.ran_for_ms is not null
                and s.stamp_source in ('own', 'wrapper') then s.utc_ns - s.ran_for_ms * 1000000
            when s.ran_for_ms is not null then greatest(
                s.utc_ns - s.ran_for_ms * 1000000,
                least(coalesce(l.step_ns, f.progress_ns, s.utc_ns - s.ran_for_ms * 1000000),
                    case when s.latest_ns > s.utc_ns then s.latest_ns - s.ran_for_ms * 1000000 end),
                least(coalesce(f.first_stamped_ns, s.latest_ns), s.latest_ns)
                    - s.ran_for_ms * 1000000)
            when s.timeout_ms is not null
                and s.stamp_source = 'own' then s.utc_ns - s.timeout_ms * 1000000
            when s.timeout_ms is not null
                then coalesce(f.first_stamped_ns - s.timeout_ms * 1000000,
                    greatest(s.latest_ns - s.timeout_ms * 1000000, p.step_ns))
            when s.pattern like 'nccl2%'
                and l.interval_ns is not null then least(l.step_ns + l.interval_ns, s.latest_ns)
        end as start_ns,
        s.ran_for_ms is null and s.timeout_ms is null as is_guess,
        s.stamp_source in ('own', 'wrapper') as is_stamped,
        case when s.stamp_source = 'own' then s.utc_ns
            else coalesce(f.first_stamped_ns,
                greatest(s.latest_ns, p.step_ns + s.timeout_ms * 1000000)) end
            as spoke_ns,
        s.file_id, s.line_no, s.text
    from failure_signal as s
    join failed_attempt as f on f.job_id = s.job_id and f.attempt = s.attempt
    left join last_step as l on l.job_id = s.job_id and l.attempt = s.attempt
    left join file_progress as p on p.job_id = s.job_id and p.attempt = s.attempt
        and p.file_id = s.file_id and p.line_no < s.line_no
    where s.signal = 'timeout'
),
told as (
    select w.* exclude (guid, process_group), coalesce(t.guid, nullif(w.guid, ''), '0') as guid,
        coalesce(t.process_group, w.process_group) as process_group
    from wait as w
    left join group_wait as t on t.job_id = w.job_id and t.attempt = w.attempt
        and t.rank is not distinct from w.rank and t.seq_num = w.seq_num
),
earliest as (
    select job_id, attempt, guid, min(start_ns) as start_ns
    from told
    where start_ns is not null or spoke_ns is null group by job_id, attempt, guid
    qualify row_number()
        over (partition by job_id, attempt order by min(start_ns) nulls last, guid) = 1
),
printed as (
    select
        t.job_id, t.attempt, t.guid,
        max(t.process_group) as process_group,
        min(t.seq_num) as seq_num,
        count(distinct t.seq_num) as number_count,
        mode(t.op_type order by t.op_type)
            filter (where t.op_type is not null and t.is_first) as op_type,
        mode(t.numel_in order by t.numel_in)
            filter (where t.numel_in is not null and t.is_first) as numel_in,
        mode(t.numel_out order by t.numel_out)
            filter (where t.numel_out is not null and t.is_first) as numel_out,
        mode(t.timeout_ms order by t.timeout_ms)
            filter (where t.timeout_ms is not null) as timeout_ms,
        arg_min(t.ran_for_ms, (t.spoke_ns, t.file_id, t.line_no))
            filter (where t.ran_for_ms is not null) as ran_for_ms,
        min(t.start_ns) as hang_start_ns, arg_min(t.is_guess, t.start_ns) as is_guess,
        arg_min(t.is_stamped, t.start_ns) as is_stamped,
        min(t.spoke_ns) as spoke_ns,
        mode(t.user_location order by t.user_location)
            filter (where t.user_location is not null) as user_location,
        mode(t.collective order by t.collective)
            filter (where t.collective is not null) as collective,
        count(distinct t.rank) filter (where not t.is_elsewhere) as rank_count,
        arg_min(t.file_id, (t.is_aside, t.spoke_ns, t.file_id, t.line_no)) as file_id,
        arg_min(t.line_no, (t.is_aside, t.spoke_ns, t.file_id, t.line_no)) as line_no,
        arg_min(t.text, (t.is_aside, t.spoke_ns, t.file_id, t.line_no)) as text
    from (select *, seq_num is not distinct from min(seq_num)
                over (partition by job_id, attempt, guid) as is_first,
            coalesce(seq_num is null and collective <> mode(collective order by collective)
                filter (where collective is not null)
                over (partition by job_id, attempt, guid), false) as is_elsewhere,
            not is_first or is_elsewhere as is_aside
        from told)
        as t
    join earliest as e on e.job_id = t.job_id and e.attempt = t.attempt and e.guid = t.guid
    group by t.job_id, t.attempt, t.guid
)
select
    coalesce(p.job_id, d.job_id) as job_id, coalesce(p.attempt, d.attempt) as attempt,
    case when p.seq_num is null then coalesce(d.guid, p.guid) else p.guid end as guid,
    case when p.seq_num is null then coalesce(p.process_group, d.process_group)
        else p.process_group end
        as process_group,
    coalesce(p.seq_num, d.seq_num) as seq_num,
    case when p.seq_num is null then coalesce(p.op_type, d.op_type) else p.op_type end as op_type,
    case when p.seq_num is null then coalesce(p.numel_in, d.numel_in) else p.numel_in end
        as numel_in,
    case when p.seq_num is null then coalesce(p.numel_out, d.numel_out) else p.numel_out end
        as numel_out,
    case when p.seq_num is null then coalesce(p.timeout_ms, d.timeout_ms) else p.timeout_ms end
        as timeout_ms,
    p.ran_for_ms,
    case when p.hang_start_ns is null or p.is_guess then d.hang_start_ns is not null
        else not p.is_stamped and coalesce(p.seq_num = d.seq_num, true)
            and (p.guid = d.guid or p.guid = '0')
            and coalesce(p.hang_start_ns - d.hang_start_ns
                between 0 and p.spoke_ns - p.hang_start_ns, false) end
        as is_start_dumped,
    if(is_start_dumped, d.hang_start_ns, p.hang_start_ns) as hang_start_ns,
    coalesce(p.spoke_ns, d.spoke_ns) as spoke_ns,
    p.spoke_ns is null and not d.is_written as is_spoke_inferred,
    case when p.seq_num is null then coalesce(p.user_location, d.user_location)
        else p.user_location end
        as user_location,
    p.collective, coalesce(p.rank_count, d.waiting_count) as rank_count,
    coalesce(p.number_count > 1, false) as is_split,
    coalesce(p.file_id, d.file_id) as file_id,
    case when p.file_id is not null then p.line_no else d.place_no end as line_no,
    coalesce(p.text, d.text) as text
from printed as p
full join fr_failure as d on d.job_id = p.job_id and d.attempt = p.attempt
