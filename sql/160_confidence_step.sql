-- How sure an answer is: how often answers of its verdict on storage, its class and its score were right on incidents of known truth.
-- grain: one row a verdict on storage, a list of classes (null: any other class) and a step of scores
-- reads: nothing
-- stored: yes
-- note: A score says how strongly a rule fired, not how often it is right.
create or replace view confidence_step as
select
    storage_verdict,
    failure_classes,
    score_from,
    confidence,
    reason
from (
    values
        ('guilty', null, 0.0, 0.72, 'none such was given of late, on incidents nobody had seen 18 of 26, and 13 of 18 on odd ones'),
        ('guilty', null, 0.7, 0.95, '7 of 7 such answers were right, on incidents nobody had seen 289 of 303, and 117 of 124 on odd ones'),
        ('guilty', null, 0.8, 0.98, '38 of 38 such answers were right, on incidents nobody had seen 725 of 738, and 185 of 186 on odd ones'),
        ('innocent', ['gpu', 'infrastructure', 'collective_mismatch', 'rank_hang'], 0.0, 0.96, '46 of 47 such answers were right, on incidents nobody had seen 605 of 625, and 212 of 242 on odd ones'),
        ('innocent', ['data', 'data_loading_stall'], 0.0, 0.81, '22 of 22 such answers were right, on incidents nobody had seen 151 of 182, and 60 of 93 on odd ones'),
        ('innocent', null, 0.0, 0.88, '13 of 13 such answers were right, on incidents nobody had seen 395 of 446, and 242 of 280 on odd ones'),
        ('undetermined', ['undetermined'], 0.0, 0.91, '13 of 13 such answers were right, on incidents nobody had seen 41 of 44'),
        ('undetermined', null, 0.0, 0.63, '7 of 7 such answers were right, on incidents nobody had seen 27 of 46')
) as t(storage_verdict, failure_classes, score_from, confidence, reason)
