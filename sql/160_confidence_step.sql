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
        ('guilty', null::varchar[], 0.0, 0.81, '6 of 6 such answers were right, and 4 of 5 on incidents nobody had seen'),
        ('guilty', null, 0.7, 0.91, '45 of 45 such answers were right, and 75 of 82 on incidents nobody had seen'),
        ('guilty', null, 0.8, 0.97, '90 of 90 such answers were right, and 96 of 97 on incidents nobody had seen'),
        ('innocent', ['gpu', 'infrastructure', 'collective_mismatch', 'rank_hang'], 0.0, 0.95, '102 of 103 such answers were right, and 128 of 133 on incidents nobody had seen'),
        ('innocent', null, 0.0, 0.77, '111 of 111 such answers were right, and 177 of 233 on incidents nobody had seen'),
        ('undetermined', null, 0.0, 0.55, '56 of 68 such answers were right, and 81 of 155 on incidents nobody had seen')
) as t(storage_verdict, failure_classes, score_from, confidence, reason)
