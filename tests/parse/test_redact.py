"""Credentials are taken out of texts before they are stored, and nothing else is."""

from __future__ import annotations

import time

import pytest

from aiscorr.parse.batches import RowBatch
from aiscorr.parse.redact import redact, redacted_lines
from aiscorr.schema.tables import WORKER_LINE

SECRETS = [
    ("GET https://b.s3/x?X-Amz-Signature=abc123&a=1 403", "GET https://b.s3/x?<redacted> 403"),
    ("Authorization: Bearer abcdefghijkl0", "Authorization: Bearer <redacted>"),
    ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic <redacted>"),
    ("export AWS_SECRET_ACCESS_KEY=abc/def+123", "export AWS_SECRET_ACCESS_KEY=<redacted>"),
    ('{"password": "hunter22", "user": "ml"}', '{"password": "<redacted>", "user": "ml"}'),
    ("https://a.blob.x/c/b?sig=abc%2Bdef&sv=2020", "https://a.blob.x/c/b?<redacted>"),
    ("https://a.blob.x/c/b?sv=2020&se=2026-01-01&sig=abc", "https://a.blob.x/c/b?<redacted>"),
    ("https://s.x/b/o?X-Goog-Algorithm=G&X-Goog-Signature=abc", "https://s.x/b/o?<redacted>"),
    ("https://s.x/b/o?GoogleAccessId=x&Expires=1&Signature=abc", "https://s.x/b/o?<redacted>"),
    ("https://d.x/o?Policy=abc&Signature=def&Key-Pair-Id=K", "https://d.x/o?<redacted>"),
    ("/v1/objects/b/o?provider=aws&X-Amz-Signature=abc HTTP/1.1", "/v1/objects/b/o?<redacted> HTTP/1.1"),
    ("exceeded with url: /o.tar?X-Amz-Date=1&X-Amz-Sig", "exceeded with url: /o.tar?<redacted>"),
    ("url=https%3A%2F%2Fb%2Fo%3FX-Amz-Signature%3Dabc%26x%3D1 end", "url=https%3A%2F%2Fb%2Fo%3F<redacted> end"),
    ("https://b/o%3Fsv%3D1%26sig%3Dabc", "https://b/o%3F<redacted>"),
    (r'"https://b.s3/x?a=1\u0026sig=abc"', '"https://b.s3/x?<redacted>"'),
    ("https://b/x?a='b'&X-Amz-Signature=0123456789abcdef", "https://b/x?a='b'&X-Amz-Signature=<redacted>"),
    ("https://h/x?apikey=abc and https://h/x?jwt=abc", "https://h/x?<redacted> and https://h/x?<redacted>"),
    ("https://h/x?user=ml&password=abc", "https://h/x?<redacted>"),
    ("Authorization: AWS4-HMAC-SHA256 SignedHeaders=host, Signature=fe5f80f77d5fa3be",
     "Authorization: AWS4-HMAC-SHA256 SignedHeaders=host, Signature=<redacted>"),
    ("Authorization: AWS ABCDEFGHIJKLMNOP0123:frJIUN8DYpKDtOLCwo//yllqDzg=", "Authorization: AWS <redacted>"),
    ("x-amz-security-token: FwoGZXIvYXdz", "x-amz-security-token: <redacted>"),
    ("X-Auth-Token: abcdefghijk", "X-Auth-Token: <redacted>"),
    ("AIS_AUTHN_TOKEN=abcdefghijkl ais", "AIS_AUTHN_TOKEN=<redacted> ais"),
    ("ais auth --token abcdefghijkl show", "ais auth --token <redacted> show"),
    ("got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jV-x,", "got <redacted>,"),
    ("login hf_abcdefghijklmnopqrstuvwxyz", "login <redacted>"),
    ("redis://:hunter22@host:1/0 s3://k:hunter22@h/b", "redis://<redacted>@host:1/0 s3://<redacted>@h/b"),
    ("proxy http://ml:hunter22@proxy:3128/", "proxy http://<redacted>@proxy:3128/"),
]  # fmt: skip
INNOCENT = [
    "http://10.0.0.1:51081/v1/objects/b/o.tar?provider=ais&tid=AZq6Oo53&pid=1&utm=1789",
    "key: value, token count 4096, tokens_per_second=1234567",
    "why? nobody knows",
    "http://10.0.0.1:51081/v1/objects/b?what=smap&pid=p1&key=train/0001.tar&seed=7&phrase=x",
    "def f(x, signature=(Tensor, int)): token ids, tokens: 4096, next token prediction",
    "time 10:21:38@node",
    "peer 10.0.0.1:51081, user@host:/path",
    "hf_model_of_the_site_and_so_on",
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


@pytest.mark.parametrize("text", [text for text, _ in SECRETS])
def test_what_is_clean_stays_clean(text: str) -> None:
    """Cleaning twice is cleaning once, so that a stored line is found again in its file."""
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize(
    "unit",
    ["?", "?a", "a_", "secret_", "secret-", "?token", "https://", "a:", "eyJ", "&", "key ", " x-amz-signature:", "AWS ",
     "Basic ", "--token", "%3F", "sig=", "\\"],
)  # fmt: skip
def test_no_line_takes_long(unit: str) -> None:
    """The time for a line made to be slow grows with its length, not with the square of it."""
    line = unit * (60_000 // len(unit)) + " se= secret @ token signature"
    began = time.process_time()
    redact(line)
    assert time.process_time() - began < 2


def test_every_text_column_is_cleaned() -> None:
    """Whatever column a reader puts a secret into, it does not leave the process."""
    batch = RowBatch(WORKER_LINE)
    secret, clean = SECRETS[0]
    names = [column.name for column in WORKER_LINE.columns if column.type == "VARCHAR"]
    batch.add(dict.fromkeys(names, secret))
    (row,) = batch.take().to_pylist()
    assert {row[name] for name in names} == {clean}


KEY = [
    "-----BEGIN RSA PRIVATE KEY-----",
    *["MIIEowIBAAKCAQEA" * 4] * 5,
    "c2VjcmV0a2V5==",
    "-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("label", ["", "[rank3]: ", "2026-11-20 23:04:52 INFO "])
@pytest.mark.parametrize(("first", "last"), [(0, 8), (2, 8), (0, 4), (1, 5)])
def test_a_private_key_over_several_lines(label: str, first: int, last: int) -> None:
    """Lines of a private key are taken out, whole or cut at either end, and the lines around it stay."""
    lines = redacted_lines(["step 12 loss 0.71", *(label + line for line in KEY[first:last]), "checkpoint saved"])
    assert "MIIE" not in "".join(lines)
    assert label or "c2Vj" not in "".join(lines)  # behind a label so short a rest may be any word
    assert lines[0] == "step 12 loss 0.71" and lines[-1] == "checkpoint saved"
    assert sum("<redacted>" in line for line in lines) >= 3


def test_a_private_key_on_one_line() -> None:
    """A key whose line ends are written out loses its text; a line that only names a key stays."""
    line = r'{"private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nqhkiG9w0\n-----END PRIVATE KEY-----\n"}'
    assert redact(line) == r'{"private_key": "-----BEGIN PRIVATE KEY-----<redacted>-----END PRIVATE KEY-----\n"}'
    for kept in ("-----BEGIN PRIVATE KEY-----", "no PRIVATE KEY----- was found", "PEM: -----BEGIN EC PRIVATE KEY-----"):
        assert redact(kept) == kept
    for lines in (["aB" * 32, "short", "Ba" * 32], [f"sha256 {'0a1b' * 16}"] * 4):
        assert redacted_lines(lines) == lines
