-- All ranks entered the collective and nobody finished it: the fabric or the devices, not a straggler.
-- grain: one row a failure
-- reads: failure_lead
-- stored: yes
-- note: Needs every rank of the job: a rank whose log is missing may be the one that never entered.
create or replace view finding_fabric as
select
    failure_id,
    'fabric' as finding,
    case
        when timeout_count = 0 or culprit_count > 0 then 'quiet'
        when waiting_rank_count < rank_count then 'blind'
        when seq_num is null then 'blind'
        else 'fired'
    end as state,
    'gpu_fabric' as failure_class,
    'all_ranks_pending' as failure_kind,
    'innocent' as storage_verdict,
    null::varchar as node_id,
    null::integer as rank,
    null::varchar as chain_id,
    0.85 as score,
    'all ' || rank_count::varchar || ' ranks entered ' || coalesce(op_type, 'the collective') || ' number ' || seq_num::varchar || ' and nobody finished it' as statement,
    [{'file_id': file_id, 'line_no': line_no, 'why': 'the first of the time-outs; every rank has one'}] as supports,
    [] as contradicts
from failure_lead
