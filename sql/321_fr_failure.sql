-- The hang that Flight Recorder dumps show, with the job attempt it belongs to.
-- grain: at most one row a job attempt
-- reads: fr_hang, job_span, threshold
-- stored: yes
-- note: The attempt is the latest that had begun when the last call was made. A dump of a job that
-- note: went on or succeeded afterwards shows a moment of work, and counts for nothing. spoke_ns:
-- note: when the dumps were written, where their files' times can be believed, else when the
-- note: time-out was over.
create or replace view fr_failure as
with placed as (
    select
        h.*, j.attempt, j.is_done, j.progress_ns,
        row_number()
            over (partition by h.job_id, h.path_attempt order by j.attempt desc) as attempt_no
    from fr_hang as h
    join job_span as j on j.job_id = h.job_id
        and (j.started_ns is null or j.started_ns <= h.last_ns + 60000000000)
),
chosen as (
    select *
    from placed
    where attempt_no = 1 and not is_snapshot and not is_done
        and coalesce(progress_ns <= hang_start_ns
            + (select value * 1000000000 from threshold where name = 'hang_gap_s'),
            true)
    qualify row_number() over (partition by job_id, attempt order by path_attempt desc) = 1
)
select
    job_id, attempt, path_attempt, group_key, process_group, guid, is_p2p, seq_num, op_type,
    numel_in, numel_out, timeout_ms, user_location, hang_start_ns, waiting_count, member_count,
    missing_ranks, outcome,
    first_ns, last_ns,
    case
        when written_ns between last_ns and hang_start_ns + coalesce(timeout_ms, 600000) * 1000000
            + 3600000000000
            then written_ns
        else hang_start_ns + coalesce(timeout_ms, 600000) * 1000000 end
        as spoke_ns,
    dump_count, file_id, place_no, text
from chosen
