-- What a call of a stack tells of what its process does; of several that fit a call the first counts.
-- grain: one row a rule
-- reads: nothing
-- stored: yes
-- note: file, function and exception are regular expressions for the source file, the function, and both with a blank between. A passage is what a storage client calls to wait for its answer: what it calls beside is the program's own.
create or replace view frame_rule as
select
    position,
    activity,
    strength,
    file,
    function,
    exception
from (
    values
        (1, 'collective', 'telling', 'torch/distributed/(distributed_c10d|_functional_collectives|nn/functional)|deepspeed/comm/', '', '^$'),
        (2, 'collective', 'telling', '', '^c10d::', '^$'),
        (3, 'collective', 'telling', 'fsdp|deepspeed/runtime|megatron', '^(\w+\.)*(wait_for_params|_?all_gather\w*|_?reduce_scatter\w*|fetch_sub_module|_wait_unshard\w*|_unshard|wait_for_unshard)$', '^$'),
        (4, 'backward', 'telling', 'torch/(autograd/|_tensor\.py)', 'backward', '^$'),
        (5, 'log_upload', 'outer', '(^|/)(wandb|mlflow|neptune|comet_ml|clearml)/', '', '^$'),
        (6, 'hub_wait', 'outer', '(^|/)(huggingface_hub/|datasets/download/)', '', '^$'),
        (7, 'storage_wait', 'telling', '(^|/)(aistore|urllib3|requests|botocore|boto3|s3transfer|s3fs|gcsfs|fsspec|httpx|httpcore|aiohttp|smart_open)/|http/client\.py|(^|/)webdataset/gopen\.py', '', '^$'),
        (8, 'decoding', 'telling', '(^|/)(PIL|soundfile|torchaudio|torchcodec|librosa|av|cv2|decord|wave|tarfile|gzip|bz2|lzma|zstandard|zipfile|albumentations|audiomentations|imgaug|kornia|resampy|skimage|torchvision/transforms|scipy/(signal|ndimage|fft))(/|\.py|\.so)', '', '^$'),
        (9, 'worker_wait', 'telling', '', '_try_get_data|_get_data', '^$'),
        (10, 'compile', 'telling', 'torch/_inductor/(compile_fx|codecache|graph|scheduler|async_compile)|torch/_dynamo/(convert_frame|symbolic_convert)|(^|/)triton/(compiler|runtime/build)', '', '^$'),
        (11, 'lock', 'telling', '(^|/)(filelock|portalocker|fasteners)/', '', '^$'),
        (12, 'checkpoint', 'telling', '(?i)checkpoint|torch/serialization|safetensors', '', 'torch/utils/checkpoint|(?i)activation_?checkpoint|checkpoint_wrapper|tensor_parallel/random'),
        (13, 'checkpoint', 'telling', '', '(?i)checkpoint', 'torch/utils/checkpoint|(?i)activation_?checkpoint|checkpoint_wrapper|tensor_parallel/random|checkpointed_forward|checkpoint_forward'),
        (14, 'batch_preparation', 'telling', '', '(?i)collate|tokeni[sz]e|prepare_batch|next_batch', '^$'),
        (15, 'data_loading', 'telling', 'torch/utils/data/|lhotse/|webdataset/', '', '^$'),
        (16, 'compute', 'telling', 'torch/nn/|torch/cuda/|torch/_dynamo', '', '^$'),
        (17, 'lock', 'faint', '(^|/)(threading|queue|multiprocessing/(synchronize|connection|queues))\.py$', '', '^$'),
        (18, 'lock', 'faint', '', '^(pthread_mutex_lock|__lll_lock_wait|flock)$', '^$'),
        (19, 'sleep', 'faint', '', '^(clock_nanosleep|nanosleep|time_sleep)$', '^$'),
        (21, 'storage_wait', 'passage', '^$|^<|(^|/)(aistore|urllib3|requests|botocore|aiobotocore|boto3|s3transfer|s3fs|gcsfs|fsspec|httpx|httpcore|aiohttp|smart_open|tenacity|backoff|retrying|anyio|sniffio|h11|h2|trio|gevent|eventlet|uvloop|wrapt|opentelemetry|ddtrace|sentry_sdk|newrelic|certifi|idna|multidict|yarl|aiohappyeyeballs|async_timeout|pydantic(_core)?|http|email|asyncio|concurrent|json|encodings|multiprocessing)/|(^|/)(socket|ssl|selectors|threading|queue|contextlib|functools|typing|logging/__init__|weakref|abc|_?pyio|codecs|shutil|tempfile|pathlib|os|io|random|time|uuid|zlib|_compression|webdataset/gopen|lhotse/ais/.*|lhotse/serialization|lhotse/utils)\.py', '', '^$'),
        (22, 'lock', 'inner', '<frozen importlib\._bootstrap>|importlib/_bootstrap\.py', '^(\w+\.)*(acquire|__enter__)$', '^$'),
        (23, 'lock', 'inner', '(^|/)logging/__init__\.py', '^(\w+\.)*(acquire|_acquireLock|handle|getLogger|isEnabledFor)$', '^$'),
        (24, 'lock', 'telling', '', '^__lll_lock_wait_private$', '^$'),
        (25, 'decoding', 'inner', '', '(?i)^(\w+\.)*(\w+_)?(resize|cvt_?color|im_?decode|(de|trans)code|im_?encode|warp_?(affine|perspective)|(gaussian|median)_?blur|resample|spectrogram|mfcc|fbank|filterbank|i?stft|speed_perturb|spec_augment|time_stretch|pitch_shift)(_\w+)?$', '^$'),
        (26, 'data_loading', 'telling', '', '(?i)^(\w+\.)*_*(fetch|read|load|get|download|pull|next|iter|stream)_((many|one|next|all)_)?(shard|sample|example|chunk|record|range|object|item|utterance|clip)s?$', '(?i)checkpoint|state|weights'),
        (27, 'log_upload', 'inner', '(^|/)logging/__init__\.py', '^(\w+\.)*(flush|emit)$', '^$'),
        (28, 'batch_preparation', 'telling', '(^|/)(tokenizers|sentencepiece|tiktoken|nltk|spacy|jieba|pypinyin|g2p_en|phonemizer)/|(^|/)(transformers/)?tokenization_\w+\.py$', '', '^$'),
        (29, 'debugger', 'telling', '(^|/)(debugpy|pydevd|_pydevd_bundle|_pydev_bundle|ipdb|pudb|remote_pdb|web_pdb|pdb|bdb)(/|\.py)', '', '^$'),
        (30, 'another_service', 'telling', '(^|/)(openai|anthropic|litellm|pymongo|psycopg2?|sqlalchemy|redis|kafka|elasticsearch|kubernetes|docker)/', '', '^$'),
        (31, 'file_read', 'inner', '<frozen importlib\._bootstrap(_external)?>|importlib/_bootstrap(_external)?\.py', '^(\w+\.)*(_path_(stat|isfile|isdir|is_mode_type)|path_stats|get_data|_fill_cache|find_spec|_get_spec)$', '^$'),
        (20, 'evaluation', 'outer', '', '(^|\.)(validat(e|ion_\w+)|evaluat(e|ion\w*)|eval_\w+)$', '^$')
) as t(position, activity, strength, file, function, exception)
