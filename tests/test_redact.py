"""Credentials are taken out of texts before they are stored, and nothing else is."""

from __future__ import annotations

import pytest

from aiscorr.parse.batches import RowBatch
from aiscorr.parse.redact import redact
from aiscorr.tables import WORKER_LINE

SECRETS = [
    ("GET https://b.s3/x?X-Amz-Signature=abc123&a=1 403", "GET https://b.s3/x?<redacted> 403"),
    ("Authorization: Bearer abcdefghijkl0", "Authorization: Bearer <redacted>"),
    ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic <redacted>"),
    ("export AWS_SECRET_ACCESS_KEY=abc/def+123", "export AWS_SECRET_ACCESS_KEY=<redacted>"),
    ('{"password": "hunter22", "user": "ml"}', '{"password": "<redacted>", "user": "ml"}'),
    ("proxy http://ml:hunter22@proxy:3128/", "proxy http://<redacted>@proxy:3128/"),
]
INNOCENT = [
    "http://10.0.0.1:51081/v1/objects/b/o.tar?provider=ais&tid=AZq6Oo53&pid=1&utm=1789",
    "key: value, token count 4096, tokens_per_second=1234567",
    "why? nobody knows",
    "a@b",
]


@pytest.mark.parametrize(("text", "clean"), SECRETS)
def test_secrets_are_taken_out(text: str, clean: str) -> None:
    """The secret goes, what stands around it stays."""
    assert redact(text) == clean


@pytest.mark.parametrize("text", INNOCENT)
def test_other_text_stays(text: str) -> None:
    """AIStore's own query, and words that only look like keys, stay as they are."""
    assert redact(text) == text


def test_every_text_column_is_cleaned() -> None:
    """Whatever column a reader puts a secret into, it does not leave the process."""
    batch = RowBatch(WORKER_LINE)
    secret, clean = SECRETS[0]
    names = [column.name for column in WORKER_LINE.columns if column.type == "VARCHAR"]
    batch.add(dict.fromkeys(names, secret))
    (row,) = batch.take().to_pylist()
    assert {row[name] for name in names} == {clean}
