"""The scenarios that were held back from the first three sets; one file a subject, as above."""
