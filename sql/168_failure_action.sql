-- What to do with a job that failed so: restart it, or stop and mend something first.
-- grain: one row a class, and where given a storage verdict and kind
-- reads: nothing
-- stored: yes
-- note: The row that names most counts. is_of_host: the fault is that of a host, so that the job can be restarted without it where one host had all culprits.
create or replace view failure_action as
select failure_class, storage_verdict, failure_kind, action, is_of_host, because
from (
    values
        ('undetermined', null, null, 'look', false, 'the logs do not show what failed'),
        ('storage_io', null, null, 'look', false, 'no line shows that the storage failed it'),
        ('storage_io', 'guilty', null, 'stop_and_repair_storage', false, 'storage failed the job'),
        ('data_loading_stall', null, null, 'look', false, 'no line shows what held the rank'),
        ('data_loading_stall', 'guilty', null, 'stop_and_repair_storage', false, 'storage held it'),
        ('data_loading_stall', 'innocent', null, 'stop_and_fix_program', false, 'its loader hung'),
        ('data', null, null, 'stop_and_fix_program', false, 'the same data fails it again'),
        ('data', 'undetermined', null, 'look', false, 'storage may have lost what it asks for'),
        ('software', null, null, 'stop_and_fix_program', false, 'the same program fails again'),
        ('collective_mismatch', null, null, 'stop_and_fix_program', false, 'its ranks parted'),
        ('rank_hang', null, null, 'stop_and_fix_program', false, 'a rank was held by its program'),
        ('rank_hang', null, 'silent', 'look', false, 'nothing shows what the rank did'),
        ('rank_hang', null, 'unknown', 'look', false, 'nothing shows what the rank did'),
        ('rank_hang', null, 'compute', 'look', false, 'device and program can both hold it'),
        ('rank_hang', null, 'collective', 'look', false, 'fabric and program can both hold it'),
        ('rank_hang', null, 'another_service', 'look', false, 'another service held it'),
        ('rank_hang', null, 'hub_wait', 'look', false, 'another service held it'),
        ('rank_hang', null, 'file_read', 'look', false, 'a file system held it'),
        ('rank_hang', null, 'file_write', 'look', false, 'a file system held it'),
        ('gpu', null, null, 'restart', true, 'a device failed'),
        ('gpu', null, 'cuda_out_of_memory', 'stop_and_fix_program', false, 'it needs more memory'),
        ('gpu_fabric', null, null, 'look', false, 'the logs do not show where the fabric failed'),
        ('network', null, null, 'restart', true, 'a connection failed'),
        ('infrastructure', null, null, 'restart', true, 'a process or host was taken away'),
        ('infrastructure', null, 'disk_full', 'look', false, 'space has to be made first'),
        ('infrastructure', null, 'file_system', 'look', false, 'the file system has to work first')
) as t(failure_class, storage_verdict, failure_kind, action, is_of_host, because)
