-- A reason why a rank is taken for the one that kept the others waiting or died first, in words.
-- grain: one row a basis
-- reads: nothing
-- stored: yes
-- note: has_parted: the rank and the others called different things, so that neither storage nor its host explains why they wait for each other.
create or replace view suspect_basis as
select
    basis,
    basis in ('mismatch', 'other_collective', 'ahead', 'order', 'out_of_step') as has_parted,
    words
from (
    values
        ('named', 'its peers, or the error that all share, name it'),
        ('mismatch', 'its operation or size differs from that of the others'),
        ('other_collective', 'it stands in another collective than the others'),
        ('out_of_step', 'it waits in a collective of a number that the others have completed'),
        ('behind', 'it had not entered the collective the others waited in'),
        ('ahead', 'it entered a collective that nobody else did'),
        ('order', 'it entered two process groups in another order than its peers'),
        ('unfinished', 'its part of the collective did not finish while that of others did'),
        ('not_started', 'its device had not come to the collective that runs on the others'),
        ('no_dump', 'it left no Flight Recorder dump'),
        ('crash', 'it failed by itself, before the others'),
        ('killed', 'it was ended by a signal, before the others'),
        ('exited', 'it exited first, by torchrun''s table, and nothing had hung'),
        ('lost_host', 'its host was lost, by the scheduler, its kernel or its power, and none of its ranks told how it ended'),
        ('stack', 'its stack stands elsewhere, while the stacks of most others wait in a collective; no counter contradicts'),
        ('alike', 'most ranks failed with it'),
        ('unplaced', 'its lines name no rank'),
        ('absent', 'it left no line at all'),
        ('silent', 'it alone did not report the time-out')
) as t(basis, words)
