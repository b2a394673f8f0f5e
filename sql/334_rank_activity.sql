-- What a rank was doing when its peers waited for it, as far as stacks, tracebacks or its last words tell.
-- grain: one row a rank of a failed attempt and witness
-- reads: stack_frame, worker_file, worker_tail, failed_attempt, rank_crash, failure_signal, stuck_collective, threshold
-- stored: yes
-- empty without: failed_attempt, rank_crash
-- note: Innermost telling frame of the main thread first: a socket below an HTTP client is waiting for storage, below a collective it is not. Last words from the start of the job tell nothing once it has trained: many ranks speak only then.
create or replace view rank_activity as
with frame as (
    select
        w.job_id, s.rank, contains(s.text, '"name"') as is_json, s.file_id, s.dump_no, s.thread_name, s.frame_no, s.function, s.source_file, s.line_no, s.function || coalesce(' (' || s.source_file || ':' || s.source_line::varchar || ')', '') as text,
        case
            when contains(s.source_file, 'torch/distributed/distributed_c10d') or contains(s.source_file, 'torch/autograd/graph') then 'collective'
            when regexp_matches(s.source_file, '(^|/)(aistore|urllib3|requests|botocore|boto3|s3fs|fsspec|httpx|aiohttp|huggingface_hub)/|http/client\.py') then 'storage_wait'
            when regexp_matches(s.source_file, '(^|/)(PIL|soundfile|torchaudio|librosa|av|wave|tarfile|gzip|zipfile)(/|\.py|\.so)') then 'decoding'
            when regexp_matches(s.function, '_try_get_data|_get_data') then 'worker_wait'
            when regexp_matches(s.function || ' ' || s.source_file, '(?i)checkpoint|torch/serialization|safetensors') then 'checkpoint'
            when regexp_matches(s.function, '(?i)collate|tokeni[sz]e|prepare_batch|next_batch') then 'batch_preparation'
            when regexp_matches(s.source_file, 'torch/utils/data/|lhotse/|webdataset/') then 'data_loading'
            when regexp_matches(s.source_file, 'torch/nn/|torch/cuda/|torch/_dynamo') then 'compute'
        end as activity
    from stack_frame as s
    join worker_file as w on w.file_id = s.file_id
    where s.rank is not null and s.thread_name = 'MainThread'
),
stack as (
    select job_id, rank, activity, 'stack' as witness, 0.95 as confidence, file_id, line_no, text
    from frame
    where activity is not null
    qualify row_number() over (partition by job_id, rank order by frame_no, is_json, file_id, line_no) = 1
),
top as (
    select job_id, rank, text, file_id, line_no
    from frame
    qualify row_number() over (partition by job_id, rank order by frame_no, is_json, file_id, line_no) = 1
),
words as (
    select
        w.job_id, w.path_attempt + t.attempt_no as attempt, t.rank,
        case
            when t.activity = 'checkpoint' and regexp_matches(t.text, '\b(ais|s3|gs)://|/v1/objects/') then 'storage_wait'
            when t.activity = 'data_loading' and regexp_matches(t.text, '(^|[\s=''"(:])/[\w.-]+/[\w./-]+') and not contains(t.text, '://') then 'file_read'
            else t.activity
        end as activity, t.file_id, t.line_no, t.text,
        row_number() over (partition by w.job_id, w.path_attempt + t.attempt_no, t.rank order by t.local_ns desc nulls last, w.is_stream_copy, t.line_no desc) as word_no
    from worker_tail as t
    join worker_file as w on w.file_id = t.file_id
    where t.rank is not null
),
trained as (
    select distinct job_id, attempt from words where activity in ('step', 'epoch_end', 'evaluation', 'checkpoint')
    union
    select job_id, attempt from stuck_collective where seq_num > (select value from threshold where name = 'trained_seq_num')
)
select f.job_id, f.attempt, s.rank, s.activity, s.witness, s.confidence, s.file_id, s.line_no, s.text
from failed_attempt as f
join stack as s on s.job_id = f.job_id
union all
select f.job_id, f.attempt, t.rank, 'unknown' as activity, 'stack' as witness, 0.5 as confidence, t.file_id, t.line_no, t.text
from failed_attempt as f
join top as t on t.job_id = f.job_id
where not exists (select 1 from stack as s where s.job_id = t.job_id and s.rank = t.rank)
union all
select w.job_id, w.attempt, w.rank, case when w.activity = 'initialisation' and r.job_id is not null then 'unknown' else w.activity end as activity, 'last_words' as witness, 0.6 as confidence, w.file_id, w.line_no, w.text
from words as w
join failed_attempt as f on f.job_id = w.job_id and f.attempt = w.attempt
left join trained as r on r.job_id = w.job_id and r.attempt = w.attempt
where w.word_no = 1 and w.activity is not null
union all
select c.job_id, c.attempt, c.rank, case c.frame_kind when 'storage' then 'storage_wait' else c.frame_kind end as activity, 'traceback' as witness, 0.8 as confidence, c.file_id, c.line_no, c.text
from rank_crash as c
where c.frame_kind is not null and c.frame_kind <> 'other'
union all
select f.job_id, f.attempt, s.rank, 'collective' as activity, 'traceback' as witness, 0.7 as confidence, s.file_id, s.line_no, s.text
from failure_signal as s
join failed_attempt as f on f.job_id = s.job_id and f.attempt = s.attempt
join stuck_collective as k on k.job_id = s.job_id and k.attempt = s.attempt and s.utc_ns <= k.spoke_ns
where coalesce(s.signal, 'victim') = 'victim' and s.is_uncaught and s.tier in ('collective', 'launcher', 'network')
