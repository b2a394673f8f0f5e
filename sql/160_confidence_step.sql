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
        ('guilty', null::varchar[], 0.0, 0.8, '1 of 1 such answers were right, and 4 of 5 on incidents nobody had seen'),
        ('guilty', null, 0.7, 0.97, '56 of 56 such answers were right, and 77 of 78 on incidents nobody had seen'),
        ('guilty', null, 0.8, 0.97, '87 of 87 such answers were right, and 92 of 93 on incidents nobody had seen'),
        ('innocent', ['gpu', 'infrastructure', 'collective_mismatch', 'rank_hang'], 0.0, 0.94, '113 of 115 such answers were right, and 146 of 154 on incidents nobody had seen'),
        ('innocent', null, 0.0, 0.83, '94 of 95 such answers were right, and 165 of 201 on incidents nobody had seen'),
        ('undetermined', null, 0.0, 0.55, '60 of 77 such answers were right, and 99 of 186 on incidents nobody had seen')
) as t(storage_verdict, failure_classes, score_from, confidence, reason)
