-- How sure an answer is: how often answers of its verdict on storage, its class and its score were right on incidents of known truth.
-- grain: one row a verdict on storage, a list of classes (null: any other class) and a step of scores
-- reads: nothing
-- note: A score says how strongly a rule fired, not how often it is right. Counted on generated incidents (benchmarks/accuracy, `fit`); those that the rules were made on count for a tenth beside those that nobody had seen. Right is the answer as a whole: verdict, culprits and class. Who acquits storage is surer where the cause shows by itself than where a rank's own error is all there is.
create or replace view confidence_step as
select
    storage_verdict,
    failure_classes,
    score_from,
    confidence,
    reason
from (
    values
        ('guilty', null, 0.0, 0.81, '1 of 1 such answers were right, and 5 of 6 on incidents nobody had seen'),
        ('guilty', null, 0.7, 0.97, '55 of 55 such answers were right, and 79 of 80 on incidents nobody had seen'),
        ('guilty', null, 0.8, 0.97, '95 of 95 such answers were right, and 95 of 96 on incidents nobody had seen'),
        ('innocent', ['gpu', 'infrastructure', 'collective_mismatch', 'rank_hang'], 0.0, 0.94, '100 of 102 such answers were right, and 139 of 147 on incidents nobody had seen'),
        ('innocent', null, 0.0, 0.84, '97 of 98 such answers were right, and 167 of 199 on incidents nobody had seen'),
        ('undetermined', null, 0.0, 0.56, '61 of 74 such answers were right, and 98 of 183 on incidents nobody had seen')
) as t(storage_verdict, failure_classes, score_from, confidence, reason)
