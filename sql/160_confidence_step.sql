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
        ('guilty', null::varchar[], 0.0, 0.82, '10 of 10 such answers were right, and 0 of 0 on incidents nobody had seen'),
        ('guilty', null, 0.7, 0.89, '48 of 48 such answers were right, and 61 of 68 on incidents nobody had seen'),
        ('guilty', null, 0.8, 0.97, '89 of 89 such answers were right, and 77 of 78 on incidents nobody had seen'),
        ('innocent', ['gpu', 'infrastructure', 'collective_mismatch', 'rank_hang'], 0.0, 0.96, '111 of 112 such answers were right, and 81 of 83 on incidents nobody had seen'),
        ('innocent', null, 0.0, 0.73, '95 of 95 such answers were right, and 133 of 186 on incidents nobody had seen'),
        ('undetermined', null, 0.0, 0.52, '51 of 68 such answers were right, and 73 of 148 on incidents nobody had seen')
) as t(storage_verdict, failure_classes, score_from, confidence, reason)
