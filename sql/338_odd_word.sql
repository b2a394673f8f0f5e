-- What sets one rank apart where nothing else tells ranks apart: its last words, or that it alone was sent what it did not expect.
-- grain: one row a rank of a failed attempt
-- reads: rank_word, worker_event, failed_rank, rank_position, stuck_collective, failure_signal, fr_failure
-- case: yes
-- note: Asked where PyTorch says that calls differ and not whose, or where all ranks time out in a collective and no number or dump tells which: then they stand in different ones, as none is missing. Words are compared without times, labels, the rank's own number and decimal fractions, as losses and durations differ anyway; whole numbers count (a batch of 5 where the others have 8). Lines that tell of an error are no words of the program. Else it is the only one that gloo sent more than it expected, where half of the others or more, and two, say that they stood at one line of the program, and none at another. Of two ranks nobody is odd.
create or replace view odd_word as
with ranks as (select job_id, attempt, count(*) as rank_count from failed_rank group by job_id, attempt),
waiting as (
    select p.job_id, p.attempt
    from rank_position as p
    join stuck_collective as c on c.job_id = p.job_id and c.attempt = p.attempt and c.seq_num is null
    join ranks as r on r.job_id = p.job_id and r.attempt = p.attempt
    where p.is_waiting
    group by p.job_id, p.attempt
    having count(*) = any_value(r.rank_count)
),
asked as (
    select job_id, attempt from waiting union select job_id, attempt from failure_signal where failure_class = 'collective_mismatch' and signal in ('crash', 'error')
),
said as (
    select t.job_id, t.attempt, t.rank, t.local_ns, t.file_id, t.line_no, t.text, t.line
    from rank_word as t
    left join worker_event as e on e.file_id = t.file_id and e.line_no = t.line_no and e.failure_class is not null
    where e.file_id is null and not regexp_matches(t.text, '\w(Error|Exception)\b|^\S*\s*(terminate called|what\(\):)|\[[A-Z]\d{3,4} \d\d:|(?i)\bwarn')
),
latest as (
    select s.*
    from said as s
    join asked as a on a.job_id = s.job_id and a.attempt = s.attempt
    qualify row_number() over (partition by s.job_id, s.attempt, s.rank order by s.local_ns desc nulls last, s.line_no desc, s.file_id) = 1
),
worded as (
    select
        job_id, attempt, rank, file_id, line_no, text,
        trim(regexp_replace(regexp_replace(line,
            '(?i)\b(rank|r|stage|worker|process|proc|task|gpu|cuda|device|node|host)"?[ :=_#-]*0*' || rank || '\b|[<\[(]0*' || rank || '[>\])]', '#', 'g'),
            '\d+\.\d+|\bpid[ :=]*\d+', '#', 'g')) as words
    from latest
),
counted as (
    select *, count(*) over (partition by job_id, attempt, words) as alike_count, count(*) over (partition by job_id, attempt) as said_count
    from worded
),
most as (select distinct job_id, attempt, words, alike_count from counted),
stranded as (
    select job_id, attempt, rank, max(user_location) as user_location
    from failure_signal
    where rank is not null and signal = 'victim' and tier in ('collective', 'network') and user_location is not null
    group by job_id, attempt, rank
    having count(distinct user_location) = 1
),
odd as (
    select
        1 as place, c.job_id, c.attempt, c.rank, c.file_id, c.line_no, c.text,
        'said last "' || regexp_replace(c.words, '^([#|:,\s-]|INFO\b|I )+', '') || '" where the others said "' || regexp_replace(o.words, '^([#|:,\s-]|INFO\b|I )+', '') || '"' as words
    from counted as c
    join most as o on o.job_id = c.job_id and o.attempt = c.attempt and o.alike_count = c.said_count - c.alike_count and o.words <> c.words
    join ranks as r on r.job_id = c.job_id and r.attempt = c.attempt and r.rank_count = c.said_count
    where c.alike_count * 2 < c.said_count
    union all
    select
        2, m.job_id, m.attempt, min(m.rank), min(m.file_id), min(m.line_no), min(m.text),
        'was sent more than it expected, while others stood at ' || regexp_extract(any_value(t.user_location), '[^/]+$')
    from (select distinct on (job_id, attempt, rank) * from failure_signal where pattern = 'gloo_size_mismatch' and rank is not null order by file_id, line_no) as m
    join stranded as t on t.job_id = m.job_id and t.attempt = m.attempt and t.rank <> m.rank
    join ranks as r on r.job_id = m.job_id and r.attempt = m.attempt
    group by m.job_id, m.attempt
    having count(distinct m.rank) = 1 and count(distinct t.user_location) = 1 and count(distinct t.rank) * 2 >= any_value(r.rank_count) - 1 and count(distinct t.rank) > 1
)
select job_id, attempt, rank, words, file_id, line_no, text
from odd
where (job_id, attempt) not in (select job_id, attempt from fr_failure)
qualify rank() over (partition by job_id, attempt order by place) = 1
