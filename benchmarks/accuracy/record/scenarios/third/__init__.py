"""The scenarios that were held back from the first two sets; one file a subject, as above."""
