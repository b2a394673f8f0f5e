-- Ranks called different collectives, or with different sizes or types, or one skipped or added one.
-- grain: one row a failure
-- reads: failure_lead, failure_signal, fr_failure
-- stored: yes
-- empty without: failure_lead
create or replace view finding_collective_mismatch as
with stated as (
    select job_id, attempt, min(file_id) as file_id, arg_min(line_no, (file_id, line_no)) as line_no, count(distinct rank) as reporter_count
    from failure_signal
    where failure_class = 'collective_mismatch' and signal in ('names_peer', 'crash')
    group by job_id, attempt
)
select
    f.failure_id,
    'collective_mismatch' as finding,
    case when f.basis in ('mismatch', 'other_collective', 'ahead', 'order') or s.job_id is not null or (f.basis is null and d.outcome = 'split') then 'fired' else 'quiet' end as state,
    'collective_mismatch' as failure_class,
    coalesce(f.basis, case when s.job_id is null then 'split' end, 'stated') as failure_kind,
    'innocent' as storage_verdict,
    null::varchar as node_id,
    f.culprit_rank as rank,
    null::varchar as chain_id,
    case when s.reporter_count > 1 then 0.92 when f.basis in ('mismatch', 'other_collective') then 0.85 when f.basis in ('ahead', 'order') then 0.75 else 0.7 end as score,
    coalesce('rank ' || f.culprit_rank::varchar, 'a rank') || case f.basis
        when 'ahead' then ' is ahead of all others: it entered a collective that nobody else did'
        when 'order' then ' entered two process groups in another order than its peers'
        when 'other_collective' then ' stands in another collective than the others'
        when 'mismatch' then ' called another operation or size than the others at sequence number ' || coalesce(f.seq_num::varchar, '?')
        else ' called another collective than the others' end as statement,
    [
        {'file_id': s.file_id, 'line_no': s.line_no, 'why': 'PyTorch compared the calls and says so'},
        {'file_id': case when f.basis is null then d.file_id end, 'line_no': d.place_no, 'why': 'the calls differ here, and no side is the larger one'},
        {'file_id': f.basis_file_id, 'line_no': f.basis_line_no, 'why': 'what rank ' || coalesce(f.culprit_rank::varchar, '?') || ' called'}
    ] as supports,
    [] as contradicts
from failure_lead as f
left join stated as s on s.job_id = f.job_id and s.attempt = f.attempt
left join fr_failure as d on d.job_id = f.job_id and d.attempt = f.attempt and d.outcome = 'split'
