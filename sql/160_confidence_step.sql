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
        ('guilty', null, 0.0, 0.78, '11 of 11 such answers were right, and 16 of 21 on incidents nobody had seen'),
        ('guilty', null, 0.7, 0.94, '57 of 57 such answers were right, and 141 of 149 on incidents nobody had seen'),
        ('guilty', null, 0.8, 0.99, '98 of 98 such answers were right, and 214 of 215 on incidents nobody had seen'),
        ('innocent', ['gpu', 'infrastructure', 'collective_mismatch', 'rank_hang'], 0.0, 0.89, '89 of 95 such answers were right, and 244 of 275 on incidents nobody had seen'),
        ('innocent', ['data', 'data_loading_stall'], 0.0, 0.71, '27 of 27 such answers were right, and 73 of 106 on incidents nobody had seen'),
        ('innocent', null, 0.0, 0.85, '64 of 68 such answers were right, and 258 of 302 on incidents nobody had seen'),
        ('undetermined', null, 0.0, 0.55, '51 of 75 such answers were right, and 190 of 353 on incidents nobody had seen')
) as t(storage_verdict, failure_classes, score_from, confidence, reason)
