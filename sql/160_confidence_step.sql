-- How sure an answer is: how often answers of its verdict on storage, its class and its score were right on incidents of known truth.
-- grain: one row a verdict on storage, a list of classes (null: any other class) and a step of scores
-- reads: nothing
-- note: A score says how strongly a rule fired, not how often it is right. Counted on generated incidents (benchmarks/accuracy, `fit`); those that the rules were made on count for a tenth beside those that nobody had seen. Right is the answer as a whole: verdict, culprits and class. Who acquits storage is surer where the cause shows by itself than where a rank's own error is all there is, and least where that error is about data.
create or replace view confidence_step as
select
    storage_verdict,
    failure_classes,
    score_from,
    confidence,
    reason
from (
    values
        ('guilty', null, 0.0, 0.75, '2 of 2 such answers were right, and 13 of 18 on incidents nobody had seen'),
        ('guilty', null, 0.7, 0.94, '49 of 49 such answers were right, and 117 of 124 on incidents nobody had seen'),
        ('guilty', null, 0.8, 0.98, '102 of 104 such answers were right, and 185 of 186 on incidents nobody had seen'),
        ('innocent', ['gpu', 'infrastructure', 'collective_mismatch', 'rank_hang'], 0.0, 0.88, '87 of 88 such answers were right, and 212 of 242 on incidents nobody had seen'),
        ('innocent', ['data', 'data_loading_stall'], 0.0, 0.67, '29 of 29 such answers were right, and 60 of 93 on incidents nobody had seen'),
        ('innocent', null, 0.0, 0.87, '77 of 77 such answers were right, and 242 of 280 on incidents nobody had seen'),
        ('undetermined', null, 0.0, 0.54, '59 of 73 such answers were right, and 178 of 337 on incidents nobody had seen')
) as t(storage_verdict, failure_classes, score_from, confidence, reason)
