-- A bit of AIStore's state.flags and what it says about the node.
-- grain: one row a bit
-- reads: nothing
-- note: AIStore 5.0, cmn/cos/node_state.go; 6 (ClusterStarted and NodeStarted) is the healthy value.
create or replace view state_flag as
select
    bit,
    flag,
    is_alert
from (
    values
        (0, 'VoteInProgress', false),
        (1, 'ClusterStarted', false),
        (2, 'NodeStarted', false),
        (3, 'Rebalancing', false),
        (4, 'RebalanceInterrupted', true),
        (5, 'Resilvering', false),
        (6, 'ResilverInterrupted', true),
        (7, 'NodeRestarted', false),
        (8, 'OOS', true),
        (9, 'OOM', true),
        (10, 'MaintenanceMode', true),
        (11, 'LowCapacity', true),
        (12, 'LowMemory', true),
        (13, 'DiskFault', true),
        (14, 'NumGoroutines', true),
        (15, 'HighNumGoroutines', false),
        (16, 'CertWillSoonExpire', true),
        (17, 'CertificateExpired', true),
        (18, 'CertificateInvalid', true),
        (19, 'KeepAliveErrors', true),
        (20, 'OOCPU', true),
        (21, 'LowCPU', false),
        (22, 'DiskOOS', true),
        (23, 'DiskLowCapacity', true)
) as t(bit, flag, is_alert)
