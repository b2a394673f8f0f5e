-- The call in which gloo closed a rank's connections, as its traceback names it.
-- grain: one row a rank of a failed attempt that reports a closed connection and no time-out of its own
-- reads: failure_signal, stuck_collective, failed_rank
-- case: yes
-- note: It stood there, and need not have waited there: whoever comes late finds its connections closed as well. A call counts where every rank names one, or where another rank ran into its time-out in the same. Where sequence numbers are at hand they tell more.
create or replace view broken_call as
with told as (
    select
        s.job_id, s.attempt, s.rank, coalesce(s.signal = 'timeout', false) as is_waiting, s.collective, s.user_location, s.file_id, s.line_no, s.text
    from failure_signal as s
    join stuck_collective as k on k.job_id = s.job_id and k.attempt = s.attempt and k.seq_num is null
    where s.rank is not null and (s.signal = 'timeout' or coalesce(s.signal, 'victim') = 'victim' and starts_with(s.pattern, 'gloo_') and coalesce(s.collective, s.user_location) is not null)
    qualify row_number() over (partition by s.job_id, s.attempt, s.rank order by is_waiting desc, s.signal nulls first, s.file_id, s.line_no) = 1
),
called as (
    select t.*, bool_or(t.is_waiting) over (partition by t.job_id, t.attempt, t.collective, t.user_location) as is_shared
    from told as t
),
lacking as (
    select job_id, attempt from (from failed_rank select job_id, attempt, rank except from told select job_id, attempt, rank)
)
select job_id, attempt, rank, collective, user_location, file_id, line_no, text
from called
where not is_waiting and (is_shared or (job_id, attempt) not in (from lacking))
