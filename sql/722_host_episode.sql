-- A host that was lost, or that its kernel reports to be in trouble, and its links and devices.
-- grain: one row a job attempt, host and kind of line
-- reads: worker_event
-- stored: yes
-- note: state is lost where the scheduler, the kernel or the power took the host away, else the
-- note: pattern of the lines. No line shows when such trouble ends.
create or replace view host_episode as
select
    job_id, attempt, split_part(host, '.', 1) as host,
    case
        when pattern in ('kernel_network_trouble', 'nccl_ib_port_down', 'nccl_ib_port_event')
            then 'link'
        else 'host'
    end as subject_kind,
    case
        when pattern in ('slurm_node_failure', 'host_power_lost', 'kernel_panic') then 'lost'
        else pattern
    end as state,
    arg_min(utc_ns, (utc_ns, file_id, line_no)) as begin_min_ns,
    arg_min(latest_ns, (utc_ns, file_id, line_no)) as begin_max_ns,
    max(utc_ns) as last_sign_ns,
    arg_min(file_id, (utc_ns, file_id, line_no)) as file_id,
    arg_min(line_no, (utc_ns, file_id, line_no)) as line_no,
    arg_min(text, (utc_ns, file_id, line_no)) as text
from worker_event
where host is not null and role in ('cause', 'symptom')
    and regexp_matches(pattern, '^(kernel_|gpu_xid_|amdgpu_|host_|slurm_node_failure|nccl_ib_port)')
group by job_id, attempt, split_part(host, '.', 1), pattern
