"""The scenarios that were held back from the first four sets; one file a subject, as above."""
