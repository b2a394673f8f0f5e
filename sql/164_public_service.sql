-- A service outside of any cluster of AIStore that training programs talk to, by the names of its hosts.
-- grain: one row a service
-- reads: nothing
-- note: host_pattern is a regular expression of part of a host's name. Who cannot reach one of these has not been failed by AIStore; a message of AIStore's backend names them too, so who reads a message of AIStore must look at who says it.
create or replace view public_service as
select
    host_pattern,
    service
from (
    values
        ('amazonaws\.com', 'Amazon Web Services'),
        ('googleapis\.com', 'Google Cloud'),
        ('blob\.core\.windows', 'Azure Blob Storage'),
        ('huggingface\.co', 'Hugging Face Hub'),
        ('hf\.co', 'Hugging Face Hub'),
        ('wandb\.(ai|com)', 'Weights & Biases'),
        ('api\.wandb', 'Weights & Biases'),
        ('mlflow', 'MLflow'),
        ('neptune\.ai', 'Neptune')
) as t(host_pattern, service)
