-- A service outside of any cluster of AIStore that training programs talk to, by the names of its hosts or the paths of its interface.
-- grain: one row a service, or a name of its hosts
-- reads: nothing
-- stored: yes
-- note: host_pattern is a regular expression of part of a host's name, path_pattern one of where its paths begin: a client that tries again prints the path alone (urllib3), and AIStore's paths begin with /v1/ or /s3 (3.30 to 5.0). is_store: it keeps objects, so that it may be what the job reads its data from.
create or replace view public_service as
select
    host_pattern,
    path_pattern,
    service,
    is_store
from (
    values
        ('amazonaws\.com', null, 'Amazon Web Services', true),
        ('googleapis\.com', null, 'Google Cloud', true),
        ('blob\.core\.windows', null, 'Azure Blob Storage', true),
        ('huggingface\.co', '/api/(models|datasets|spaces|whoami)|/([^/]+/){2,3}resolve/', 'Hugging Face Hub', true),
        ('hf\.co', null, 'Hugging Face Hub', true),
        ('wandb\.(ai|com)', '/graphql|/files/([^/]+/){3}file_stream', 'Weights & Biases', false),
        ('api\.wandb', null, 'Weights & Biases', false),
        ('mlflow', '/api/\d\.\d/(preview/)?mlflow', 'MLflow', false),
        ('neptune\.ai', '/api/(backend|leaderboard)/', 'Neptune', false),
        (null, '/api/', 'a web service', false),
        (null, '/metrics/job', 'a push gateway of Prometheus', false)
) as t(host_pattern, path_pattern, service, is_store)
