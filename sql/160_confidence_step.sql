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
        ('guilty', null, 0.0, 0.8, 'none such was given of late, on incidents nobody had seen 18 of 22, and 13 of 18 on odd ones'),
        ('guilty', null, 0.7, 0.95, '27 of 28 such answers were right, on incidents nobody had seen 241 of 251, and 117 of 124 on odd ones'),
        ('guilty', null, 0.8, 0.97, '137 of 138 such answers were right, on incidents nobody had seen 483 of 496, and 185 of 186 on odd ones'),
        ('innocent', ['gpu', 'infrastructure', 'collective_mismatch', 'rank_hang'], 0.0, 0.95, '118 of 119 such answers were right, on incidents nobody had seen 445 of 465, and 212 of 242 on odd ones'),
        ('innocent', ['data', 'data_loading_stall'], 0.0, 0.78, '19 of 20 such answers were right, on incidents nobody had seen 99 of 123, and 60 of 93 on odd ones'),
        ('innocent', null, 0.0, 0.89, '77 of 79 such answers were right, on incidents nobody had seen 286 of 317, and 242 of 280 on odd ones'),
        ('undetermined', null, 0.0, 0.57, '39 of 51 such answers were right, on incidents nobody had seen 204 of 357, and 178 of 337 on odd ones')
) as t(storage_verdict, failure_classes, score_from, confidence, reason)
