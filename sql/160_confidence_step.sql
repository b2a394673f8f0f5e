-- How sure an answer is: how often answers of its verdict on storage, its class and its score were right on incidents of known truth.
-- grain: one row a verdict on storage, a list of classes (null: any other class) and a step of scores
-- reads: nothing
-- note: A score says how strongly a rule fired, not how often it is right. Counted on generated incidents (benchmarks/accuracy, `fit`); those that the rules were made on count for a tenth beside those that nobody had seen, and of these the odd ones, whose kinds had to be such as were not there before, for a quarter beside those of the sort that users report. Right is the answer as a whole: verdict, culprits and class. Who acquits storage is surer where the cause shows by itself than where a rank's own error is all there is, and least where that error is about data.
create or replace view confidence_step as
select
    storage_verdict,
    failure_classes,
    score_from,
    confidence,
    reason
from (
    values
        ('guilty', null, 0.0, 0.78, '1 of 1 such answers were right, on incidents nobody had seen 4 of 5, and 13 of 18 on odd ones'),
        ('guilty', null, 0.7, 0.96, '87 of 87 such answers were right, on incidents nobody had seen 109 of 112, and 117 of 124 on odd ones'),
        ('guilty', null, 0.8, 0.99, '84 of 84 such answers were right, on incidents nobody had seen 108 of 108, and 185 of 186 on odd ones'),
        ('innocent', ['gpu', 'infrastructure', 'collective_mismatch', 'rank_hang'], 0.0, 0.93, '96 of 97 such answers were right, on incidents nobody had seen 120 of 124, and 212 of 242 on odd ones'),
        ('innocent', ['data', 'data_loading_stall'], 0.0, 0.82, '29 of 29 such answers were right, on incidents nobody had seen 35 of 38, and 60 of 93 on odd ones'),
        ('innocent', null, 0.0, 0.89, '74 of 74 such answers were right, on incidents nobody had seen 81 of 88, and 242 of 280 on odd ones'),
        ('undetermined', null, 0.0, 0.6, '46 of 62 such answers were right, on incidents nobody had seen 64 of 100, and 178 of 337 on odd ones')
) as t(storage_verdict, failure_classes, score_from, confidence, reason)
