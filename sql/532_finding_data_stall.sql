-- A rank stood in fetching or preparing data, and no fault of AIStore explains it.
-- grain: one row a failure
-- reads: failure_lead, unanswered_node, storage_remark, told_reads, storage_relation
-- case: yes
-- note: Ranks that fail alike because what another one fetches for them did not come are of this
-- note: kind too. Who waits for what it writes is failed by the storage, if by anything.
create or replace view finding_data_stall as
select
    f.failure_id,
    'data_stall' as finding,
    case
        when (culprit_rank is null and crash_pattern is null) or basis = 'departed'
            or (crash_pattern is not null and crash_class <> 'data_loading_stall') then 'quiet'
        when activity
            in ('storage_wait', 'data_loading', 'worker_wait', 'batch_preparation', 'decoding',
                'file_read')
            or crash_class = 'data_loading_stall' then 'fired'
        else 'quiet'
    end as state,
    if(r.is_write, 'storage_io', 'data_loading_stall') as failure_class,
    coalesce(activity, crash_pattern) as failure_kind,
    case
        when activity in ('decoding', 'batch_preparation') then 'innocent'
        when q.failure_id is not null and is_storage_seen then 'guilty'
        when activity in ('worker_wait', 'data_loading') and culprit_rank is not null
            and is_storage_cleared and fault_count = 0 and coalesce(stray_count, 0) = 0
            and m.failure_id is null and w.told_count >= w.target_count and w.cold_count = 0
                then 'innocent'
        else 'undetermined'
    end as storage_verdict,
    f.culprit_rank as rank,
    culprits_words || case
        when culprit_rank is null and not is_plural
            then ' failed with ' || coalesce(exception, crash_pattern)
                || ' while it waited for data'
        when culprit_rank is null then ' alike failed with ' || coalesce(exception, crash_pattern)
            || ' while they waited for data'
            else case when is_plural then ' were ' else ' was ' end || activity_words
                || ' while the others waited' end
        || case
            when activity = 'file_read'
                then '; by its path that is not AIStore'
            when is_storage_seen
            and fault_count = 0 then '; AIStore shows no fault at that moment'
                || case when w.told_count < w.target_count
                    and q.failure_id is null
                        then ', but the statistics of '
                        || (w.target_count - w.told_count)::varchar || ' of its '
                        || w.target_count::varchar || ' targets do not cover those reads'
                    when w.cold_count > 0 then ', but ' || w.cold_count::varchar
                        || ' of its targets read from the remote backend then, and had not before'
                    else '' end
            when is_storage_seen then '; AIStore had trouble at that moment too'
            when covered_count > 0
                then '; the AIStore logs are too few, or not certainly of its cluster, to '
                    'say what held it'
            else '; no AIStore log covers that moment, so what held it is open' end
        || case when q.failure_id is not null
            and is_storage_seen then ', and one of its nodes answered none of the rank''s requests'
            else '' end
            as statement,
    [
        {'term': 'wait', 'file_id': activity_file_id, 'line_no': activity_line_no,
        'why': 'what it was doing: ' || replace(coalesce(activity, '?'), '_', ' ')
            || coalesce(' (' || replace(activity_witness, '_', ' ')
                || case when activity_witness = 'stack' then ': ' || activity_text else '' end
                || ')',
                '')},
        {'file_id': case when request_outcome = 'pending' then request_file_id end,
        'line_no': request_line_no, 'why': 'what it was asking for: ' || request_text},
        {'file_id': basis_file_id, 'line_no': basis_line_no,
        'why': 'why ' || culprit_words || ': ' || basis_words},
        {'term': case when activity_witness = 'stack' then 'stack'
            when q.failure_id is not null then 'unanswered' end},
        {'file_id': m.file_id, 'line_no': m.line_no,
        'why': 'what AIStore node ' || m.node_id || ' says of ' || m.name}
    ] as supports,
    list_concat(
        case when is_storage_seen and fault_count = 0 and q.failure_id is null
            and activity not in ('decoding', 'batch_preparation')
                then [{'file_id': basis_file_id, 'line_no': basis_line_no,
                    'why': 'AIStore logs cover the moment and show no fault'}]
            else [] end,
        case
            when basis = 'stack'
                then [{'file_id': basis_file_id, 'line_no': basis_line_no,
                    'why': 'only stacks place the ranks: no sequence number says that it had not '
                        'entered the collective'}]
            else [] end
    ) as contradicts
from failure_lead as f
left join unanswered_node as q on q.failure_id = f.failure_id and q.rank = f.culprit_rank
left join storage_remark as m on m.failure_id = f.failure_id
left join told_reads as w on w.failure_id = f.failure_id
left join storage_relation as r on r.failure_id = f.failure_id and r.rank = f.culprit_rank
    and f.activity = 'storage_wait' and f.crash_pattern is null
