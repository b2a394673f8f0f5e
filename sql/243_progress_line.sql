-- A line that reports how far training has come: of a known program, or one of several that are
-- alike but for their numbers, one of which grows.
-- grain: one row a kept progress line
-- reads: step_line, threshold
-- stored: yes
-- note: A line of an unknown program (patterns repeated_*) counts where those alike in the same
-- note: file, attempt and rank show its number growing, repeated_lines times at least and four
-- note: times as often as it falls (a count may begin again with each epoch): numbers of workers,
-- note: ports and retries do not grow, a line that waits for one step names the same step again.
create or replace view progress_line as
with worded as (
    select
        *,
        case
            when starts_with(pattern, 'repeated_')
                then left(
                    regexp_replace(
                        regexp_replace(text,
                            '(?i)\b(nan|inf|days?)\b|[0-9]+([.,:][0-9]+)*(e[+-]?[0-9]+)?', ' ',
                            'g'),
                        '[^A-Za-z_/|]+', ' ', 'g'),
                    80) end
            as words
    from step_line
),
single as (
    select distinct file_id, attempt_no, rank, local_rank, pattern, words, line_no, step
    from worded
    where words is not null and step is not null
),
followed as (
    select *,
        lag(step)
            over (partition by file_id, attempt_no, rank, local_rank, pattern, words
                order by line_no, step)
                as previous_step
    from single
),
growing as (
    select file_id, attempt_no, rank, local_rank, pattern, words
    from followed
    group by file_id, attempt_no, rank, local_rank, pattern, words
    having count(*)
        filter (where step > previous_step)
            >= greatest((select value from threshold where name = 'repeated_lines'),
                4 * count(*) filter (where step < previous_step))
    qualify row_number()
        over (partition by file_id, attempt_no, rank, local_rank
            order by count(*) filter (where step > previous_step) desc, pattern desc, words)
            = 1
)
select
    s.file_id, s.line_no, s.byte_offset, s.attempt_no, s.local_ns, s.zone_offset_s, s.rank,
    s.local_rank,
    s.pattern, s.kept, s.step, s.epoch, s.step_s, s.data_s, s.elapsed_s, s.text
from worded as s
left join growing as g
    on g.file_id = s.file_id and g.attempt_no = s.attempt_no and g.rank is not distinct from s.rank
        and g.local_rank is not distinct from s.local_rank
    and g.pattern = s.pattern and g.words = s.words
where s.words is null or g.file_id is not null
