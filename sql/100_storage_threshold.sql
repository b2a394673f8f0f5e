-- A number that a rule about AIStore's side uses, with the reason for it.
-- grain: one row a threshold
-- reads: nothing
create or replace view storage_threshold as
select name, value, reason
from (
    values
        ('slow_answer_factor', 20.0, 'latencies of one kind differ between targets by a few times as load comes and goes; twenty times is another state'),
        ('slow_answer_s', 0.05, 'a target answers within a few milliseconds; who takes longer than this reads from a busy disk at least'),
        ('zone_residual_s', 120.0, 'two sightings of one event on two nodes are farther apart than this only if a clock is off'),
        ('batch_residual_s', 2.0, 'all targets begin a batch within milliseconds, as far as their clocks agree'),
        ('smap_residual_s', 60.0, 'a new cluster map reaches all nodes within milliseconds, a restarting node within seconds'),
        ('drift_s', 2.0, 'hosts kept by NTP differ by less, and a cluster map or an answer reaches its reader sooner'),
        ('outage_gap_s', 150.0, 'down, removal (27 to 41 s later) and restart of one node belong to one outage'),
        ('isolated_peers', 3.0, 'a node that alone complains of so many peers, or of all other targets of a smaller cluster, is cut off itself'),
        ('fault_gap_s', 90.0, 'alerts of one fault repeat every 10 to 60 s'),
        ('disk_line_s', 10.0, 'AIStore''s line about a disk gives its shares and rates of the ten seconds before'),
        ('stuck_disk_lines', 3.0, 'a disk that is busy and moves nothing for half a minute hangs; one such line is chance or a flush'),
        ('stopped_open_s', 300.0, 'a node that says that it stops and writes no more is taken for gone so long, if nothing tells of its return'),
        ('kalive_detect_s', 20.0, 'the primary notices a silent node 12 to 17 s after it stopped'),
        ('chain_gap_s', 60.0, 'steps of one x-get-batch chain without a common cause lie closer than this'),
        ('chain_adjacent_s', 2.0, 'lines of one work item on one node are written within milliseconds'),
        ('disk_tick_s', 10.0, 'AIStore prints the disks that are at their limit every 10 s, so that one may have been there for so long before its first line'),
        ('fault_slack_s', 5.0, 'clock error and flush order between two nodes'),
        ('stale_effect_s', 900.0, 'streams opened under an old cluster map stay broken until the xaction ends'),
        ('renewal_count', 3.0, 'a daemon that was moved registers anew once or twice; one that does so more often is two'),
        ('usual_line_s', 1800.0, 'a kind of unknown line that comes three times or more over longer than this is usual, and tells nothing'),
        ('cut_return_s', 90.0, 'a node that one line says is gone and that writes on sooner than this was only cut off'),
        ('notice_s', 30.0, 'peers miss a silent node 12 to 41 s after it stopped'),
        ('drawn_out_s', 150.0, 'a single read that its reader draws out mostly lasts a minute or two; longer waits in several lines are those of several reads'),
        ('slow_target_factor', 3.0, 'targets of a cluster differ by a half; one that takes three times as long for a byte as it did, and as its peers do, is ill'),
        ('whole_read_bytes', 16777216.0, 'who reads an object of this size reads it in one go; a larger one may be drawn out by a program that works on its first part'),
        ('cold_read_s', 20.0, 'the read time-out of AIStore''s client by default: who waits longer for an object gives up, or its training stands'),
        ('unanswered_by_proxy', 3.0, 'a request may go out on a kept connection that is dead, and so may the next one; the third has a new one, which the host of the proxy took'),
        ('unanswered_requests', 2.0, 'one request may be lost with its connection; who does not answer the next one either is at fault')
) as t(name, value, reason)
