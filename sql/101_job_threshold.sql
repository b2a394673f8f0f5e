-- A number that a rule about the job, its clocks or the tie between both sides uses, with the reason for it.
-- grain: one row a threshold
-- reads: nothing
create or replace view job_threshold as
select name, value, reason
from (
    values
        ('zone_step_s', 900.0, 'all time zones in use differ by whole quarter hours'),
        ('zone_span_s', 50400.0, 'zones reach from UTC-12 to UTC+14'),
        ('job_start_lag_s', 300.0, 'a job asks for its first batch within minutes of its first line'),
        ('window_margin_s', 120.0, 'what leads to a collective time-out begins up to two minutes before its wait'),
        ('hang_gap_s', 120.0, 'a job that writes nothing for longer than this and five steps has stopped'),
        ('dump_wait_s', 5.0, 'a dump written within seconds of the last call is of a job that runs; time-outs are longer'),
        ('late_start_s', 0.5, 'clocks of hosts kept by NTP differ by less, and so do ranks that share their work evenly'),
        ('trained_seq_num', 20.0, 'a start needs a handful of collectives, training one or more a step'),
        ('same_cause_s', 3.0, 'ranks that fail from one cause do so within seconds of each other'),
        ('minority_share', 0.5, 'whoever differs from more than half of the ranks is the odd one'),
        ('beside_levels', 2.0, 'incident/ais/… lies beside incident/workers/job/…'),
        ('cluster_certainty', 0.5, 'below this a cluster whose logs are at hand is not taken for the one a job used'),
        ('cluster_sure', 0.7, 'below this a cluster is only likely the job''s: its logs acquit nobody, and a tie by time to it is worth less'),
        ('link_score', 0.55, 'below this a tie between a rank and a node is no ground to accuse the node'),
        ('chain_score', 0.65, 'below this a chain only shares the time with a rank'),
        ('confirm_score', 0.6, 'a hypothesis below this score is no verdict'),
        ('fault_before_job_s', 600.0, 'a job that begins so long after a fault begins into it; later the cluster has got over it'),
        ('fault_bite_s', 60.0, 'a request that a fault holds up stops its rank within a minute, when what was fetched ahead is used up'),
        ('hang_word_slack_s', 30.0, 'what a rank was at while the others waited it began with its last step, or with the checkpoint behind it'),
        ('hang_word_share', 0.4, 'what took less of a hang than this may be what a loader or another thread of a waiting rank was at'),
        ('request_pending_s', 45.0, 'a rank that goes on longer than this after a retry has outlived it'),
        ('outlived_s', 300.0, 'what was fetched ahead keeps a job going for a minute or two; steps for longer than this after an error that ended no process have outlived it'),
        ('trouble_over_s', 90.0, 'a silent rank whose last retry or error is so much older than another silent one''s has got over it'),
        ('named_fault_s', 3600.0, 'an AIStore node that a program''s own error names may have lost or mixed up data by trouble so long before the job began'),
        ('stall_reach_s', 90.0, 'what a rank met at the storage longer than this before the others waited for it did not stop it'),
        ('crawl_s', 5.0, 'reads that take so long on average starve a training however much its loaders fetch ahead'),
        ('port_reach_s', 30.0, 'transfers over a port that goes down stop at once, and so do the ranks that wait for them; stamps of NCCL''s warnings are whole seconds'),
        ('assumed_clock_factor', 0.75, 'a tie by time whose clock is a guess of UTC is worth three quarters'),
        ('try_gap_s', 180.0, 'clients wait two minutes at most between two tries of one request (back-off of urllib3, tenacity, botocore)'),
        ('unsaid_refusal_factor', 0.7, 'a refused connection is printed at once, so a rank that prints nothing hangs from it in one case of several'),
        ('step_slow_factor', 1.5, 'steps vary by a tenth or two from batch to batch; half as long again is another pace'),
        ('repeated_lines', 3.0, 'a number that grew three times from one line to the next alike counts something'),
        ('step_slow_lines', 3.0, 'one long step is a checkpoint or a validation'),
        ('clock_doubt_s', 7200.0, 'clocks that are wrong without being in another zone are so by seconds to an hour or two'),
        ('exit_heard_s', 6.0, 'an agent of torchrun looks at its processes every 5 s or more often, and a process that crashed takes a moment to end'),
        ('felt_before_s', 5.0, 'clients meet the end of a node seconds after it at the earliest, give or take their clocks'),
        ('felt_after_s', 45.0, 'who reads from a node meets its end within a read time-out or two'),
        ('stack_confidence', 0.7, 'in a healthy job, too, some ranks wait while one is late; one set of stacks is a moment'),
        ('case_margin_s', 86400.0, 'what befell a cluster within a day of a job may concern it, and clocks in doubt are off by less'),
        ('verdict_margin', 0.1, 'two hypotheses closer than this cannot be told apart')
) as t(name, value, reason)
