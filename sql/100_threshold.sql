-- A number that a rule uses, with the reason for it.
-- grain: one row a threshold
-- reads: nothing
create or replace view threshold as
select
    name,
    value,
    reason
from (
    values
        ('zone_step_s', 900.0, 'all time zones in use differ by whole quarter hours'),
        ('zone_span_s', 50400.0, 'zones reach from UTC-12 to UTC+14'),
        ('zone_residual_s', 120.0, 'two sightings of one event on two nodes are farther apart than this only if a clock is off'),
        ('smap_residual_s', 60.0, 'a new cluster map reaches all nodes within milliseconds, a restarting node within seconds'),
        ('drift_s', 2.0, 'hosts kept by NTP differ by less, and a cluster map or an answer reaches its reader sooner'),
        ('job_start_lag_s', 300.0, 'a job asks for its first batch within minutes of its first line'),
        ('outage_gap_s', 150.0, 'down, removal (27 to 41 s later) and restart of one node belong to one outage'),
        ('fault_gap_s', 90.0, 'alerts of one fault repeat every 10 to 60 s'),
        ('disk_line_s', 10.0, 'AIStore''s line about a disk gives its shares and rates of the ten seconds before'),
        ('stuck_disk_lines', 3.0, 'a disk that is busy and moves nothing for half a minute hangs; one such line is chance or a flush'),
        ('kalive_detect_s', 20.0, 'the primary notices a silent node 12 to 17 s after it stopped'),
        ('chain_gap_s', 60.0, 'steps of one x-get-batch chain without a common cause lie closer than this'),
        ('chain_adjacent_s', 2.0, 'lines of one work item on one node are written within milliseconds'),
        ('fault_slack_s', 5.0, 'clock error and flush order between two nodes'),
        ('stale_effect_s', 900.0, 'streams opened under an old cluster map stay broken until the xaction ends'),
        ('window_margin_s', 120.0, 'what leads to a collective time-out begins up to two minutes before its wait'),
        ('usual_line_s', 1800.0, 'a kind of unknown line that comes three times or more over longer than this is usual, and tells nothing'),
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
        ('fault_bite_s', 60.0, 'a request that a fault holds up stops its rank within a minute, when what was fetched ahead is used up'),
        ('request_pending_s', 45.0, 'a rank that goes on longer than this after a retry has outlived it'),
        ('cut_return_s', 90.0, 'a node that one line says is gone and that writes on sooner than this was only cut off'),
        ('stall_reach_s', 90.0, 'what a rank met at the storage longer than this before the others waited for it did not stop it'),
        ('notice_s', 30.0, 'peers miss a silent node 12 to 41 s after it stopped'),
        ('unanswered_requests', 2.0, 'one request may be lost with its connection; who does not answer the next one either is at fault'),
        ('assumed_clock_factor', 0.75, 'a tie by time whose clock is a guess of UTC is worth three quarters'),
        ('unsaid_refusal_factor', 0.7, 'a refused connection is printed at once, so a rank that prints nothing hangs from it in one case of several'),
        ('step_slow_factor', 1.5, 'steps vary by a tenth or two from batch to batch; half as long again is another pace'),
        ('step_slow_lines', 3.0, 'one long step is a checkpoint or a validation'),
        ('clock_doubt_s', 7200.0, 'clocks that are wrong without being in another zone are so by seconds to an hour or two'),
        ('felt_before_s', 5.0, 'clients meet the end of a node seconds after it at the earliest, give or take their clocks'),
        ('felt_after_s', 45.0, 'who reads from a node meets its end within a read time-out or two'),
        ('verdict_margin', 0.1, 'two hypotheses closer than this cannot be told apart')
) as t(name, value, reason)
