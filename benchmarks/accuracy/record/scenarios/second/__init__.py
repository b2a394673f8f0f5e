"""The scenarios that were held back from the first set; one file a subject, as above."""
