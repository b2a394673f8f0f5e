-- A rank that ended without an error while all others tell of nothing but a connection that it closed.
-- grain: one row a rank of a failed attempt
-- reads: failed_attempt, failed_rank, rank_host, rank_crash, rank_word, failure_signal, job, progress_line, worker_file
-- case: yes
-- note: left: torchrun's table lists every other rank of its node, also those it stopped (PyTorch 2.10 and later), so this one had ended with success. vanished: all ranks of a host, or one rank alone, write no more, no launcher reports their end, and their last step is that of the others, so that the log is not cut: the host, or its agent, went. own_error: it alone tells of no connection, and the last line it writes is an error of the program. interrupted: it alone was interrupted from outside (SIGINT). killed_host: srun names the one task that was killed, which is the launcher of a host (the job has torchruns, a host each), so that all ranks of that host were. Where any rank has an error of its own nobody has vanished; a restart that waited in vain for all nodes is none.
create or replace view vanished_rank as
with echoed as (
    select f.job_id, f.attempt
    from failed_attempt as f
    join failure_signal as s on s.job_id = f.job_id and s.attempt = f.attempt and s.signal = 'victim' and s.rank is not null and s.tier in ('collective', 'network')
    where f.timeout_count = 0
        and not exists (select 1 from rank_crash as c where c.job_id = f.job_id and c.attempt = f.attempt)
        and not exists (select 1 from failure_signal as c where c.job_id = f.job_id and c.attempt = f.attempt and c.failure_class is not null and c.signal in ('crash', 'launcher', 'killed', 'error') and c.pattern is distinct from 'rendezvous_timeout')
    group by f.job_id, f.attempt
),
interrupted as (
    select s.job_id, s.attempt, min(s.rank) as rank, min(s.file_id) as file_id, min(s.line_no) as line_no, any_value(s.text) as text
    from echoed as e join failure_signal as s on s.job_id = e.job_id and s.attempt = e.attempt and s.pattern = 'python_keyboard_interrupt' and s.rank is not null
    group by s.job_id, s.attempt having count(distinct s.rank) = 1
),
killed_task as (
    select s.job_id, s.attempt, try_cast(json_extract_string(s.capture, '$.tasks') as integer) as task, j.ranks_per_node, s.file_id, s.line_no, s.text
    from failure_signal as s join job as j on j.job_id = s.job_id and j.attempt = s.attempt and j.ranks_per_node > 1 and j.world_size = j.ranks_per_node * j.node_count
    where (s.job_id, s.attempt) in (select job_id, attempt from failed_attempt) and s.pattern in ('srun_task_killed', 'srun_task_crashed') and s.rank is null and try_cast(json_extract_string(s.capture, '$.tasks') as integer) < j.node_count
        and (s.job_id, s.attempt) in (select job_id, attempt from failure_signal where starts_with(pattern, 'torchrun_')) and (s.job_id, s.attempt) not in (select job_id, attempt from failure_signal where signal = 'timeout' union all select job_id, attempt from rank_crash)
    qualify count(*) over (partition by s.job_id, s.attempt) = 1
),
told as (
    select job_id, attempt, rank, bool_or(pattern = 'torchrun_failure_entry') as is_listed
    from failure_signal where rank is not null and signal in ('victim', 'exit', 'aborted', 'killed', 'notified', 'timeout') group by all
),
worded as (
    select job_id, attempt, rank, arg_max(line, (file_id, line_no)) as line, arg_max(text, (file_id, line_no)) as text, arg_max(line_no, (file_id, line_no)) as line_no, max(file_id) as file_id
    from rank_word where rank is not null group by job_id, attempt, rank having count(distinct file_id) = 1
),
step as (
    select w.job_id, w.path_attempt + p.attempt_no as attempt, p.rank, max(p.step) as step, arg_max(p.file_id, (p.step, p.line_no)) as file_id, arg_max(p.line_no, (p.step, p.line_no)) as line_no, arg_max(p.text, (p.step, p.line_no)) as text
    from progress_line as p join worker_file as w on w.file_id = p.file_id where p.rank is not null group by all
),
expected as (
    select e.job_id, e.attempt, j.ranks_per_node, unnest(generate_series(0, least(j.world_size, 65536) - 1))::integer as rank
    from echoed as e join job as j on j.job_id = e.job_id and j.attempt = e.attempt
),
rank_end as (
    select
        x.job_id, x.attempt, x.rank, r.file_id, h.place, t.rank is null as is_untold, coalesce(t.is_listed, false) as is_listed,
        x.rank // coalesce(nullif(x.ranks_per_node, 0), 1000000) as node_no, s.step, s.file_id as step_file_id, s.line_no, s.text,
        case when regexp_matches(o.line, '(?i)^(?:\W*[\w.:/-]+){0,5}?\W*\b(ERROR|CRITICAL|FATAL)\b') and not regexp_matches(o.line, '(?i)connect|peer|socket|nccl|gloo|barrier|collective') then o.line_no end as error_line_no, o.file_id as error_file_id, o.text as error_text
    from expected as x
    left join failed_rank as r on r.job_id = x.job_id and r.attempt = x.attempt and r.rank = x.rank
    left join rank_host as h on h.job_id = x.job_id and h.attempt = x.attempt and h.rank = x.rank
    left join told as t on t.job_id = x.job_id and t.attempt = x.attempt and t.rank = x.rank
    left join worded as o on o.job_id = x.job_id and o.attempt = x.attempt and o.rank = x.rank
    left join step as s on s.job_id = x.job_id and s.attempt = x.attempt and s.rank = x.rank
),
counted as (
    select
        *,
        count(*) over node as node_count, count(*) filter (where is_listed) over node as listed_count,
        count(*) over place as place_count, count(*) filter (where is_untold) over place as untold_count,
        count(*) over whole as rank_count, count(*) filter (where is_untold) over whole as all_untold_count,
        max(step) filter (where not is_untold) over whole as others_step, min(step) filter (where is_untold) over place as place_step
    from rank_end
    window node as (partition by job_id, attempt, node_no), place as (partition by job_id, attempt, place), whole as (partition by job_id, attempt)
)
select
    job_id, attempt, rank, case when is_own_error then 'own_error' when listed_count = node_count - 1 and node_count > 1 then 'left' else 'vanished' end as kind,
    case when is_own_error then error_file_id else coalesce(step_file_id, file_id) end as file_id, case when is_own_error then error_line_no else line_no end as line_no,
    case when is_own_error then error_text else text end as text
from (select *, all_untold_count = 1 and rank_count > 1 and error_line_no is not null as is_own_error from counted)
where is_untold and (job_id, attempt) not in (select job_id, attempt from interrupted) and all_untold_count * 2 <= rank_count
    and (is_own_error or (listed_count = node_count - 1 and node_count > 1) or (place is not null and place_count = untold_count and place_step >= others_step - 1)
        or (all_untold_count = 1 and rank_count > 2 and file_id is not null and step >= others_step - 1))
union all
select job_id, attempt, rank, 'interrupted' as kind, file_id, line_no, text from interrupted
union all
select k.job_id, k.attempt, unnest(generate_series(k.task * k.ranks_per_node, (k.task + 1) * k.ranks_per_node - 1))::integer as rank, 'killed_host' as kind, k.file_id, k.line_no, k.text
from killed_task as k
