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
        ('guilty', null, 0.0, 0.8, 'none such was given of late, on incidents nobody had seen 17 of 21, and 13 of 18 on odd ones'),
        ('guilty', null, 0.7, 0.95, '17 of 18 such answers were right, on incidents nobody had seen 223 of 232, and 117 of 124 on odd ones'),
        ('guilty', null, 0.8, 0.97, '83 of 84 such answers were right, on incidents nobody had seen 390 of 401, and 185 of 186 on odd ones'),
        ('innocent', ['gpu', 'infrastructure', 'collective_mismatch', 'rank_hang'], 0.0, 0.94, '84 of 85 such answers were right, on incidents nobody had seen 367 of 386, and 212 of 242 on odd ones'),
        ('innocent', ['data', 'data_loading_stall'], 0.0, 0.77, '13 of 15 such answers were right, on incidents nobody had seen 86 of 109, and 60 of 93 on odd ones'),
        ('innocent', null, 0.0, 0.88, '42 of 44 such answers were right, on incidents nobody had seen 233 of 263, and 242 of 280 on odd ones'),
        ('undetermined', null, 0.0, 0.56, '29 of 45 such answers were right, on incidents nobody had seen 188 of 335, and 178 of 337 on odd ones')
) as t(storage_verdict, failure_classes, score_from, confidence, reason)
