-- One rank stopped outside collectives and not in data loading, as far as its stack or last words
-- tell.
-- grain: one row a failure
-- reads: failure_lead, job, storage_relation, suspect_basis, worker_event
-- case: yes
-- note: Without a word of what the rank did AIStore's own logs decide: quiet and complete ones
-- note: leave the rank itself, missing ones leave it open. A rank that is through before the others
-- note: after a batch of it came short acquits nobody.
create or replace view finding_rank_hang as
with short as (
    select l.failure_id, arg_min(w.file_id, (w.utc_ns, w.file_id, w.line_no)) as file_id,
        arg_min(w.line_no, (w.utc_ns, w.file_id, w.line_no)) as line_no
    from failure_lead as l
    join worker_event as w on w.job_id = l.job_id and w.attempt = l.attempt
        and w.rank = l.culprit_rank and w.received_count < w.expected_count
    where l.activity in ('collective', 'finish', 'epoch_end')
        and regexp_matches(l.activity_text,
            '(?i)\b(through|exhausted|used up|no more|finished|done|complete)\b')
    group by l.failure_id
),
heard as (
    select
        l.failure_id, max(w.utc_ns) as last_ns,
        arg_max(w.file_id, (w.utc_ns, w.file_id, w.line_no)) as last_file_id,
        arg_max(w.line_no, (w.utc_ns, w.file_id, w.line_no)) as last_line_no
    from failure_lead as l
    join worker_event as w on w.job_id = l.job_id and w.attempt = l.attempt
        and w.rank = l.culprit_rank
    where l.basis = 'silent' and w.utc_ns < l.hang_start_ns
    group by l.failure_id
),
known as (
    select
        l.*, e.last_file_id, e.last_line_no,
        (l.hang_start_ns - e.last_ns) // 1000000000 as unheard_s, l.cluster is null
            and l.basis = 'silent' and l.request_outcome is null
            and l.activity in ('unknown', 'step') and j.job_id is not null
            and j.data_source is null as has_no_store,
        regexp_matches(coalesce(activity_text, ''), '(^|[ =''"])/[A-Za-z][\w.-]*/')
            and not regexp_matches(coalesce(activity_text, ''),
                'ais://|s3://|gs://|https?://|/v1/objects')
            or coalesce(r.is_file_write, false) as goes_to_path,
        is_storage_cleared and fault_count = 0 and soon_count = 0
            and coalesce(stray_count, 0) = 0 as is_storage_quiet,
        h.file_id as short_file_id, h.line_no as short_line_no,
        activity
            in ('checkpoint', 'evaluation', 'compute', 'compile', 'lock', 'sleep', 'debugger',
                'log_upload', 'file_write', 'hub_wait', 'another_service', 'backward', 'skipping',
                'finish', 'collective')
            as is_elsewhere,
        if(culprit_count > 1, 'rank ' || culprit_rank::varchar || '''s ', 'its ') as own,
        if(culprit_count > 1, 'they were', 'it was') as it,
        coalesce(activity = 'unknown' and activity_witness = 'stack' and activity_text <> '', false)
            as is_own_code
    from failure_lead as l
    left join storage_relation as r on r.failure_id = l.failure_id
        and r.rank is not distinct from l.culprit_rank
    left join job as j on j.job_id = l.job_id and j.attempt = l.attempt
    left join short as h on h.failure_id = l.failure_id
    left join heard as e on e.failure_id = l.failure_id
)
select
    failure_id,
    'rank_hang' as finding,
    case
        when culprit_rank is null or crash_pattern is not null
            or basis in ('killed', 'exited', 'departed')
            or basis in (select basis from suspect_basis where has_parted) then 'quiet'
        when activity
            in ('storage_wait', 'data_loading', 'worker_wait', 'decoding', 'batch_preparation',
                'file_read')
            then 'quiet'
        when is_elsewhere or is_own_code then 'fired'
        when is_storage_seen or has_no_store then 'fired'
        else 'blind'
    end as state,
    case when activity_witness = 'straggler_detection' then 'gpu' else 'rank_hang' end
        as failure_class,
    case when is_own_code then 'own_code' else coalesce(nullif(activity, 'unknown'), 'silent') end
        as failure_kind,
    case when short_file_id is not null then 'undetermined' when activity = 'checkpoint'
        and not goes_to_path and link_score >= 0.3 then 'undetermined' when is_storage_seen
        and link_score < 0.5 and (is_elsewhere or is_storage_quiet) then 'innocent'
        when is_elsewhere and (activity <> 'checkpoint' or goes_to_path) then 'innocent'
        else 'undetermined' end
        as storage_verdict,
    culprit_rank as rank,
    culprits_words
        || ' did not enter '
        || coalesce(op_type || coalesce(' number ' || seq_num::varchar, ''), 'the collective')
        || ' and kept the others waiting'
        || case
            when is_elsewhere then '; '
                || case activity_witness
                    when 'stack' then own || 'stack shows it ' || activity_words
                    when 'straggler_detection'
                        then 'straggler detection had named ' || own || 'device as slow'
                    else if(culprit_count > 1, culprit_words, 'it') || ' was last seen '
                        || activity_words end
            when is_own_code then '; ' || own || 'stack is in the program''s own code: '
                || substr(activity_text, 1, 100)
            when is_storage_seen then '; no line shows what ' || it || ' doing, '
                || case
                    when not is_storage_cleared
                        then 'and the AIStore logs end too early, or lack a target''s or the '
                            'proxies'', to show a node that went silent'
                    when fault_count = 0 and soon_count = 0
                    and stray_count > 0
                        then 'and a node of AIStore was away at another time, which is the same '
                            'time if a clock is off'
                    when fault_count = 0 and soon_count = 0 then 'and no fault of AIStore fits'
                    when fault_count = 0
                        then 'and an AIStore node went away within seconds after it'
                    when link_score >= 0.3 then 'nor that ' || if(culprit_count > 1, 'they', 'it')
                        || ' asked AIStore node ' || link_node_id || ', which was in trouble then'
                    else 'the trouble of AIStore does not fit the moment' end
            when has_no_store
                then '; no line shows what ' || it || ' doing, and no line of the job names a store'
            else '' end
            as statement,
    [
        {'term': 'behind', 'file_id': basis_file_id, 'line_no': basis_line_no,
        'why': 'why rank ' || culprit_rank::varchar || ': ' || basis_words},
        {'term': case when is_elsewhere then null when is_storage_quiet then 'storage_well'
            when is_own_code then 'own_code' when has_no_store then 'no_store' end},
        {'term': case when is_elsewhere and activity_witness = 'stack' then 'stack_elsewhere'
            when is_elsewhere and link_score < 0.5 then 'elsewhere'
            when is_elsewhere then 'elsewhere_in_trouble' end,
        'file_id': activity_file_id, 'line_no': activity_line_no,
        'why': 'what it was doing: ' || replace(activity, '_', ' ')
            || coalesce(' (' || replace(activity_witness, '_', ' ')
                || case
                    when activity_witness in ('stack', 'straggler_detection') then ': '
                        || activity_text
                    else '' end
                || ')',
                '')}
    ] as supports,
    list_concat(
        case
            when short_file_id is not null
                then [{'file_id': short_file_id, 'line_no': short_line_no,
                    'why': 'a batch of the rank had come short, which may be why it was through '
                        'first'}]
            else [] end,
        case
            when link_score >= 0.3
                then [{'file_id': link_file_id, 'line_no': link_line_no,
                    'why': 'AIStore node ' || link_node_id || ' was in trouble at that moment: '
                        || coalesce(fault_kind, 'chain')}]
            else [] end,
        case
            when basis = 'silent' and activity = 'unknown' and last_file_id is not null
                and unheard_s > 0 then [{
                'file_id': last_file_id, 'line_no': last_line_no,
                'why': 'the last line of rank ' || culprit_rank::varchar || ', '
                    || unheard_s::varchar
                    || ' s before the hang: its output may be cut off there'
            }]
            else []
        end,
        case
            when basis = 'stack'
                then [{'file_id': basis_file_id, 'line_no': basis_line_no,
                    'why': 'only stacks place the ranks: no sequence number says that it had not '
                        'entered the collective'}]
            else [] end
    ) as contradicts
from known
