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
        ('guilty', null, 0.7, 0.95, '37 of 37 such answers were right, on incidents nobody had seen 216 of 225, and 117 of 124 on odd ones'),
        ('guilty', null, 0.8, 0.97, '86 of 86 such answers were right, on incidents nobody had seen 346 of 355, and 185 of 186 on odd ones'),
        ('innocent', ['gpu', 'infrastructure', 'collective_mismatch', 'rank_hang'], 0.0, 0.94, '77 of 80 such answers were right, on incidents nobody had seen 331 of 345, and 212 of 242 on odd ones'),
        ('innocent', ['data', 'data_loading_stall'], 0.0, 0.77, '11 of 11 such answers were right, on incidents nobody had seen 81 of 103, and 60 of 93 on odd ones'),
        ('innocent', null, 0.0, 0.88, '52 of 53 such answers were right, on incidents nobody had seen 214 of 240, and 242 of 280 on odd ones'),
        ('undetermined', null, 0.0, 0.56, '22 of 26 such answers were right, on incidents nobody had seen 173 of 308, and 178 of 337 on odd ones')
) as t(storage_verdict, failure_classes, score_from, confidence, reason)
