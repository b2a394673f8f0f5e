-- A kind of candidate for the cause of a failure, and the score of one of that kind.
-- grain: one row a kind
-- reads: nothing
-- stored: yes
-- note: A hypothesis has the score of its rule, at most this one. Odds are score / (1 - score), so that the unknown has even odds. storage_verdict is what the storage verdict would be if the candidate were the cause.
create or replace view suspect_kind as
select kind, score, storage_verdict, reason
from (
    values
        ('hypothesis', 0.98, null, 'no rule is surer than that'),
        ('node_fault', 0.3, 'guilty', 'it was on as the ranks stopped, and no line ties it to any'),
        ('rank', 0.3, 'undetermined', 'something points at the rank, and no rule says what it did'),
        ('unseen_rank', 0.2, 'undetermined', 'what a rank did last is not in what was read of it'),
        ('unseen_node', 0.2, 'guilty', 'what a node did then is not in what was read of it'),
        ('cause_line', 0.2, 'undetermined', 'such a line causes failures, and no rule cites it'),
        ('unknown', 0.5, 'undetermined', 'the cause may have left no line that was read')
) as t(kind, score, storage_verdict, reason)
