-- One of the last words of a rank, without what its collectors and its logger put in front.
-- grain: one row a line
-- reads: worker_tail, worker_file, rank_identity
-- stored: yes
-- note: line has no label of srun, no tag of a launcher or rank, and no date or time, wherever
-- note: these stand. A line that names no rank is that of the only rank of its file.
create or replace view rank_word as
select
    w.job_id,
    w.path_attempt + t.attempt_no as attempt,
    coalesce(t.rank, i.rank) as rank,
    t.local_ns,
    t.zone_offset_s,
    t.activity,
    t.file_id,
    t.line_no,
    regexp_replace(
        regexp_replace(t.text, '^ {0,4}\d{1,5}: |^\[\w+\d+\]:|\[rank\d+\]:', '', 'g'),
        '\d{4}-\d\d-\d\d[ T,]\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:?\d\d)?'
            '|\b\d\d:\d\d:\d\d([.,]\d+)?',
        '', 'g'
    ) as line,
    t.text
from worker_tail as t
join worker_file as w on w.file_id = t.file_id
left join rank_identity as i on i.kind = 'file' and i.file_id = t.file_id
where coalesce(t.rank, i.rank) is not null
