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
        ('guilty', null, 0.0, 0.87, '2 of 2 such answers were right, and 11 of 12 on incidents nobody had seen'),
        ('guilty', null, 0.7, 0.93, '49 of 49 such answers were right, and 104 of 111 on incidents nobody had seen'),
        ('guilty', null, 0.8, 0.98, '102 of 104 such answers were right, and 169 of 170 on incidents nobody had seen'),
        ('innocent', ['gpu', 'infrastructure', 'collective_mismatch', 'rank_hang'], 0.0, 0.88, '87 of 88 such answers were right, and 187 of 214 on incidents nobody had seen'),
        ('innocent', ['data', 'data_loading_stall'], 0.0, 0.66, '29 of 29 such answers were right, and 51 of 81 on incidents nobody had seen'),
        ('innocent', null, 0.0, 0.89, '77 of 77 such answers were right, and 220 of 246 on incidents nobody had seen'),
        ('undetermined', null, 0.0, 0.55, '59 of 73 such answers were right, and 163 of 304 on incidents nobody had seen')
) as t(storage_verdict, failure_classes, score_from, confidence, reason)
