-- What a clock may be ahead of another: the quarter hours up to 28 hours, and whether clocks go so
-- before UTC.
-- grain: one row a quarter hour
-- reads: threshold
-- stored: yes
-- note: is_from_utc: no farther than 14 hours, as far as a zone is from UTC; two clocks of unknown
-- note: zones may be twice as far apart. is_in_use: in winter or in summer clocks somewhere on
-- note: earth go so (IANA time zone database, 2026). Whether only one offset fits is asked of all
-- note: quarter hours; one that nobody uses is a fit by chance.
create or replace view zone_choice as
select
    (q.step_no * s.value)::bigint as zone_s,
    (q.step_no * s.value)::bigint * 1000000000 as zone_ns,
    (q.step_no % 4 = 0 and q.step_no between -48 and 56)
        or q.step_no in (-38, -14, -10, 14, 18, 22, 23, 26, 35, 38, 42, 51, 55) as is_in_use,
    abs(q.step_no) <= 56 as is_from_utc
from (select unnest(range(-112, 113)) as step_no) as q
cross join threshold as s
where s.name = 'zone_step_s'
