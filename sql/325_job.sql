-- An attempt of a training job: what it trains, on how many ranks and nodes, from which data, and
-- how it ended.
-- grain: one row a job and attempt
-- reads: job_span, worker_event, worker_line, worker_tail, worker_file, failed_attempt, fr_dump,
-- reads: stack_stand
-- public: yes
-- stored: yes
-- note: world_size is the stated one, else the highest rank seen plus one; rank_count is what was
-- note: seen. node_count is that of these logs, of the tasks of srun -l that print as torchrun
-- note: does, or of the launcher's command, a short name being the host of a long one; where they
-- note: are the log of one node (by its number) and lack ranks, ranks_per_node is null.
create or replace view job as
with seen as (
    select
        job_id, attempt,
        max(case
            when contains(text, '[NeMo ') or pattern = 'nemo_experiment_dir' then '9 NeMo'
                when contains(text, '[titan]') then '8 torchtitan'
            when starts_with(pattern, 'megatron') then '8 Megatron-LM'
                when starts_with(pattern, 'deepspeed') then '7 DeepSpeed'
            when starts_with(pattern, 'accelerate')
                or contains(text, 'transformers/trainer.py') then '6 Hugging Face'
            when starts_with(pattern, 'lightning') then '5 Lightning'
                when regexp_matches(pattern, '^(nccl|gloo|c10d|ddp|torchrun|process_group)')
                    then '1 PyTorch'
        end)[3:] as framework,
        list_sort(list(distinct host) filter (where host <> 'localhost')) as names,
        list_filter(names, lambda short: not list_bool_or(
            list_transform(names, lambda name: starts_with(name, short || '.')))) as hosts,
        list_sort(list(distinct bucket) filter (where bucket is not null)) as buckets,
        bool_or(contains(coalesce(url, ''), '/ml/moss') or wid is not null
            or pattern like 'sdk_batch%' or pattern like 'lhotse_batch%')
            as is_get_batch_seen
    from worker_event
    group by job_id, attempt
),
telling as (
    select
        job_id, attempt, pattern, file_id, endpoint, bucket, capture, min(line_no) as line_no,
        max(utc_ns) as utc_ns, case when pattern = 'checkpoint_resumed' then step end as step,
        case when pattern = 'checkpoint_resumed' or contains(text, ', in <module>') then text end
            as words
    from worker_event
    where pattern in ('checkpoint_resumed', 'rank_ready', 'data_source_ais', 'data_source_path',
            'data_source_manifest')
        or regexp_matches(capture, '"(experiment_dir|task_name)"')
        or contains(text, ', in <module>')
    group by all
),
told as (
    select
        job_id, attempt,
        arg_min(
            regexp_replace(
                regexp_replace(json_extract_string(capture, '$.experiment_dir'),
                    '/' || job_id || '/?$', ''),
                '^.*/', ''),
            (line_no, file_id))
            filter (where json_extract_string(capture, '$.experiment_dir') is not null)
                as experiment,
        arg_min(json_extract_string(capture, '$.task_name'), (line_no, file_id))
            filter (where json_extract_string(capture, '$.task_name') is not null) as task_name,
        arg_max(
            case when pattern = 'checkpoint_resumed'
                then coalesce(json_extract_string(capture, '$.checkpoint'),
                    nullif(regexp_extract(words, '(/[^\s,'']+)', 1), ''), 'step ' || step::varchar)
            end,
            (utc_ns, -file_id, -line_no))
            filter (where pattern = 'checkpoint_resumed' and utc_ns is not null) as resumed_from,
        list_sort(list(distinct endpoint)
            filter (where pattern in ('rank_ready', 'data_source_ais')))
            as endpoints,
        list_sort(
            list(
                distinct coalesce(json_extract_string(capture, '$.data_source'),
                    json_extract_string(capture, '$.data_path'), bucket))
            filter (where pattern in ('rank_ready', 'data_source_path', 'data_source_manifest')))
                as sources,
        max(lower(json_extract_string(capture, '$.get_batch')))
            filter (where pattern = 'data_source_ais') as get_batch,
        arg_min(
            case when contains(words, ', in <module>')
                then regexp_extract(
                    words, 'File "([^"]*/)?([^"/]+\.py)", line \d+, in (?:<module>|main)', 2)
            end,
            (line_no, file_id))
            filter (where contains(words, ', in <module>')) as script
    from telling
    group by job_id, attempt
),
node as (
    select job_id, max(node_count) as node_count
    from (
        select job_id, count(distinct worker_node_no) as node_count from worker_file
            where worker_node_no is not null group by job_id
        union all
        select f.job_id, count(distinct w.task) from worker_line as w
            join worker_file as f on f.file_id = w.file_id
            where w.task is not null and starts_with(w.pattern, 'torchrun_') group by f.job_id
        union all
        select job_id, max(try_cast(coalesce(capture->>'$.node_count', capture->>'$.nodes') as int))
            from worker_event where pattern in ('torchrun_command', 'deepspeed_world')
            group by job_id
    )
    group by job_id
),
ranked as (
    select job_id, attempt, count(distinct rank) as rank_count
    from (
        select job_id, attempt, rank from worker_event
        union all
        select f.job_id, f.path_attempt + t.attempt_no, t.rank from worker_tail as t
            join worker_file as f on f.file_id = t.file_id
        union all
        select job_id, path_attempt, rank from fr_dump where state = 'used'
        union all
        select job_id, coalesce(attempt, 0), coalesce(stated_rank, path_rank) from stack_stand
            where told_kind is null
    )
    group by job_id, attempt
)
select
    s.job_id,
    s.attempt,
    coalesce(e.framework, 'PyTorch') as framework,
    coalesce(nullif(t.experiment, ''), t.task_name, nullif(t.script, '')) as task,
    nullif(t.resumed_from, '') as resumed_from,
    s.world_size::integer as world_size,
    s.is_world_stated,
    coalesce(r.rank_count, 0)::integer as rank_count,
    greatest(coalesce(n.node_count, 0), coalesce(len(e.hosts), 0), 1)::integer as node_count,
    case
        when (n.node_count = 1 and coalesce(len(e.hosts), 0) < 2
            and r.rank_count between 2 and s.world_size - 1)
            then null
        when s.world_size % greatest(coalesce(n.node_count, 0), coalesce(len(e.hosts), 0), 1) = 0
            then s.world_size
                // greatest(coalesce(n.node_count, 0), coalesce(len(e.hosts), 0), 1) end::integer
        as ranks_per_node,
    e.hosts,
    nullif(concat_ws(', ',
        nullif(
            array_to_string(
                list_distinct(
                    list_concat(coalesce(t.sources, []),
                        case when len(t.sources) > 0 then [] else coalesce(e.buckets, []) end)),
                ' '),
            ''),
        'via ' || nullif(array_to_string(t.endpoints, ' '), ''),
        case when t.get_batch in ('true', '1') or e.is_get_batch_seen then 'GetBatch on'
            when t.get_batch in ('false', '0') then 'GetBatch off' end
    ), '') as data_source,
    make_timestamp_ns(s.started_ns) as started_at,
    make_timestamp_ns(s.ended_ns) as ended_at,
    s.printed_s as least_s,
    case when f.job_id is not null and s.cancel_ns is not null
        and f.timeout_count + f.crash_count + f.exit_count = 0 then 'cancelled'
        when f.job_id is not null and f.stood_ns is null then 'failed'
            when s.is_done then 'completed'
            when s.cancel_ns is not null then 'cancelled' else 'end_of_logs' end as end_reason
from job_span as s
left join seen as e on e.job_id = s.job_id and e.attempt = s.attempt
left join told as t on t.job_id = s.job_id and t.attempt = s.attempt
left join node as n on n.job_id = s.job_id
left join ranked as r on r.job_id = s.job_id and r.attempt = s.attempt
left join failed_attempt as f on f.job_id = s.job_id and f.attempt = s.attempt
