-- A number that a rule uses, with the reason for it.
-- grain: one row a threshold
-- reads: storage_threshold, job_threshold
-- stored: yes
create or replace view threshold as
select name, value, reason from storage_threshold
union all
select name, value, reason from job_threshold
