-- Ranks called different collectives, or with different sizes or types, or one skipped or added
-- one.
-- grain: one row a failure
-- reads: failure_lead, suspect_basis, failure_signal, fr_failure, fr_wait, fr_order, call_split,
-- reads: odd_call
-- case: yes
-- note: gloo's complaint about a size often names no rank; whoever prints it is a victim. Where one
-- note: rank is ahead, what holds all others may as well be storage.
create or replace view finding_collective_mismatch as
with stated as (
    select job_id, attempt, min(file_id) as file_id,
        arg_min(line_no, (file_id, line_no)) as line_no, count(distinct rank) as reporter_count,
        arg_min(pattern, (file_id, line_no)) is not distinct from 'gloo_size_mismatch' as is_size
    from failure_signal
    where failure_class = 'collective_mismatch'
        and (signal in ('names_peer', 'crash')
            or (signal = 'error' and (rank is null or pattern = 'gloo_size_mismatch')))
    group by job_id, attempt
),
circle as (
    select
        w.job_id, w.path_attempt,
        string_agg('ranks ' || array_to_string(w.waiting_ranks[1:4], ', ') || ' in '
            || coalesce(w.process_group, w.group_key) || ' for '
            || array_to_string(w.absent_ranks[1:4], ', '),
            '; ' order by w.first_ns, w.group_key)
            as words,
        list({'file_id': w.file_id, 'line_no': w.place_no,
            'why': 'one of the operations that wait for each other'} order by w.first_ns,
            w.group_key)[1:6]
            as supports
    from fr_failure as f
    join fr_wait as w on w.job_id = f.job_id and w.path_attempt = f.path_attempt
        and list_contains(f.circle, w.group_key || ' ' || w.operation_key)
    group by w.job_id, w.path_attempt
),
order_split as (
    select job_id, path_attempt,
        'ranks '
            || array_to_string(
                list_sort(list(distinct rank) filter (where group_key < later_group_key))[1:4],
                ', ')
            || ' entered process group '
            || any_value(group_key) filter (where group_key < later_group_key) || ' before '
            || any_value(later_group_key) filter (where group_key < later_group_key)
            || ', ranks '
                || array_to_string(
                    list_sort(list(distinct rank) filter (where group_key > later_group_key))[1:4],
                    ', ')
                || ' the other way round' as words
    from fr_order
    group by job_id, path_attempt
    having count(distinct least(group_key, later_group_key)) = 1
        and count(distinct greatest(group_key, later_group_key)) = 1
)
select
    f.failure_id,
    'collective_mismatch' as finding,
    case when f.basis in (select basis from suspect_basis where has_parted) or s.job_id is not null
        or (f.basis is null and (d.outcome in ('split', 'circle') or k.job_id is not null))
            then 'fired'
        else 'quiet' end
        as state,
    'collective_mismatch' as failure_class,
    coalesce(f.basis, case when s.job_id is null then coalesce(d.outcome, 'split') end, 'stated')
        as failure_kind,
    case when (f.basis is null and s.job_id is null and d.job_id is null and k.way = 'number')
        or (f.basis = 'ahead' and coalesce(f.link_score >= 0.45, not f.is_storage_seen, true))
            then 'undetermined'
        else 'innocent' end
        as storage_verdict,
    f.culprit_rank as rank,
    case when f.basis is null and p.words is not null then p.words when f.basis is null
        and k.way <> 'size' then k.words
            || case k.way when 'number' then ': no two of these wait for each other' else '' end
        when f.basis is null
        and d.outcome = 'circle' then 'ranks wait for each other in a circle: '
            || coalesce(c.words, '?')
        when f.basis is null and d.outcome = 'split' and o.words is not null then o.words
        else coalesce('rank ' || f.culprit_rank::varchar, 'a rank') || case f.basis
        when 'out_of_step' then ' waits in collective '
            || coalesce('number ' || f.seq_num::varchar || ', ', '')
            || 'which the others have completed: it skipped or added a call'
        when 'ahead' then ' is ahead of all others: it entered a collective that nobody else did'
        when 'order' then ' entered two process groups in another order than its peers'
        when 'other_collective'
            then coalesce(' ' || w.words, ' is in another collective than the others')
        when 'mismatch' then ' '
            || coalesce(w.words,
                'called another operation or size than the others at sequence number '
                    || coalesce(f.seq_num::varchar, '?'))
        else case when f.basis is null
            and k.job_id is not null then ' differs, and no side is the larger one: '
                || coalesce('at sequence number ' || f.seq_num::varchar || ' ', '') || k.words
            else coalesce(' ' || w.words, if(s.is_size,
                ' called another operation or size than the others',
                ' called another collective than the others')) end end end
            as statement,
    list_concat(
        case when f.basis is null and d.outcome = 'circle' then coalesce(c.supports, [])
            else [] end,
        [
        {'file_id': s.file_id, 'line_no': s.line_no,
        'why': if(s.is_size, 'gloo received data of a size that does not fit the call',
            'PyTorch compared the calls and says so')},
        {'term': 'differ'},
        {'term': case when s.reporter_count > 1 then 'compared'
            when f.basis in ('mismatch', 'other_collective', 'out_of_step') then 'one_differs'
            when f.basis in ('ahead', 'order') then 'one_is_ahead' end},
        {'file_id': case when f.basis is null and d.outcome = 'split' then d.file_id end,
        'line_no': d.place_no, 'why': 'the calls differ here, and no side is the larger one'},
        {'file_id': case when f.basis is null then k.file_id end, 'line_no': k.line_no,
        'why': 'one of the calls that differ'},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no,
        'why': 'what rank ' || coalesce(f.culprit_rank::varchar, '?') || ' called'}
    ]) as supports
from failure_lead as f
left join stated as s on s.job_id = f.job_id and s.attempt = f.attempt
left join fr_failure as d on d.job_id = f.job_id and d.attempt = f.attempt
    and d.outcome in ('split', 'circle')
left join circle as c on c.job_id = d.job_id and c.path_attempt = d.path_attempt
left join order_split as o on o.job_id = d.job_id and o.path_attempt = d.path_attempt
left join call_split as k on k.job_id = f.job_id and k.attempt = f.attempt
    and (k.way = 'size' and k.is_numbered or f.waiting_rank_count >= f.rank_count)
left join odd_call as p on p.job_id = f.job_id and p.attempt = f.attempt and p.rank is null
left join odd_call as w on w.job_id = f.job_id and w.attempt = f.attempt and w.rank = f.culprit_rank
