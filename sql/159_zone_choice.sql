-- A zone that a clock may be in: the quarter hours up to 14 hours from UTC.
-- grain: one row a zone
-- reads: threshold
-- note: zone_ns is what such a clock is ahead of UTC.
create or replace view zone_choice as
select
    (q.step_no * s.value)::bigint as zone_s,
    (q.step_no * s.value)::bigint * 1000000000 as zone_ns
from (select unnest(range(-56, 57)) as step_no) as q
cross join threshold as s
where s.name = 'zone_step_s'
