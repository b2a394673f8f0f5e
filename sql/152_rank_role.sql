-- A role a rank can have in a failure, the strongest first.
-- grain: one row a role
-- reads: nothing
create or replace view rank_role as
select
    role,
    position,
    meaning
from (
    values
        ('culprit', 1, 'kept the others waiting, or failed first'),
        ('crashed', 2, 'failed by itself, later'),
        ('absent', 3, 'no line of it at hand'),
        ('behind', 4, 'had not entered the collective'),
        ('ahead', 5, 'was past it: its part was done'),
        ('initiator', 6, 'waited; its own watchdog fired'),
        ('notified', 7, 'heard of another rank''s time-out'),
        ('waiting', 8, 'waited'),
        ('victim', 9, 'went down with the others')
) as t(role, position, meaning)
