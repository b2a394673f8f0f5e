"""The object server that recorded jobs read from: it answers like AIStore and S3, and misbehaves as told."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping

import pytest

from benchmarks.accuracy.record.object_server import ObjectStore
from benchmarks.accuracy.record.objects import array
from benchmarks.accuracy.record.scenario import FAULTS, Fault

BODY = array(1)
NAMES = ("good", "reset", "close", "cut", "refused", "twice", "spoiled", "silent", "drop")
HURT = (
    Fault("/reset$", "reset"),
    Fault("/close$", "close"),
    Fault("/cut$", "cut"),
    Fault("/refused$", "status", status=429, message="slow down", headers={"Retry-After": "3"}),
    Fault("^/v1/.*/twice$", "status", first=2, status=503),
    Fault("^/v1/.*/twice$", "late", delay_s=0.05),
    Fault("^/v1/.*/spoiled$", "spoil"),
    Fault("^/v1/.*/silent$", "hang"),
    Fault("^/v1/.*/drop$", "drip"),
    Fault("^put:/s3/closed/", "status", status=403, message="Access Denied."),
)


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    """A store on the loopback."""
    with ObjectStore({f"b/{name}": BODY for name in NAMES}, HURT) as running:
        yield running


def read(store: ObjectStore, name: str, timeout: float = 5) -> bytes:
    """The object, through the proxy's redirect."""
    with urllib.request.urlopen(f"{store.endpoint}/v1/objects/b/{name}", timeout=timeout) as response:
        return bytes(response.read())


def refusal(store: ObjectStore, name: str) -> tuple[int, str, Mapping[str, str]]:
    """The status, body and head of a refused read."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        read(store, name)
    with caught.value as refused:
        return refused.code, refused.read().decode(), dict(refused.headers)


def test_objects_are_found_behind_a_redirect(store: ObjectStore) -> None:
    """The proxy sends a client to a target, which has the object or says in AIStore's words that it has not."""
    assert read(store, "good") == BODY
    code, text, _ = refusal(store, "nowhere")
    assert code == 404 and "ais://b/nowhere does not exist" in text


def test_faults_are_those_that_were_asked_for(store: ObjectStore) -> None:
    """Each kind of fault looks to a client like the real one, and hurts as many reads as it was told."""
    with pytest.raises((ConnectionResetError, urllib.error.URLError)):
        read(store, "reset")
    with pytest.raises(http.client.RemoteDisconnected):
        read(store, "close")
    with pytest.raises(http.client.IncompleteRead):
        read(store, "cut")
    for name in ("silent", "drop"):
        with pytest.raises(TimeoutError):
            read(store, name, timeout=0.3)
    assert len(read(store, "spoiled")) == len(BODY) and read(store, "spoiled") != BODY
    code, text, head = refusal(store, "refused")
    assert code == 429 and "slow down" in text and head["Retry-After"] == "3"
    assert [refusal(store, "twice")[0] for _ in range(2)] == [503, 503] and read(store, "twice") == BODY
    assert {fault.kind for fault in HURT} == FAULTS


def test_parts_of_objects_can_be_read(store: ObjectStore) -> None:
    """A range is answered with that part and its place; one behind the end is refused."""
    url = f"{store.endpoint}/s3/b/good"
    asked = urllib.request.Request(url, headers={"Range": "bytes=10-19"})
    with urllib.request.urlopen(asked, timeout=5) as response:
        assert response.status == 206 and response.read() == BODY[10:20]
        assert response.headers["Content-Range"] == f"bytes 10-19/{len(BODY)}"
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(urllib.request.Request(url, headers={"Range": f"bytes={len(BODY)}-"}), timeout=5)
    caught.value.close()
    assert caught.value.code == 416


def test_uploads_are_kept_or_denied(store: ObjectStore) -> None:
    """What is put can be read; where it is forbidden the answer is that of S3."""
    where = store.endpoint + "/s3/{}/key"
    put = urllib.request.Request(where.format("open"), data=b"new", method="PUT")
    with urllib.request.urlopen(put, timeout=5) as response:
        assert response.status == 200
    with urllib.request.urlopen(where.format("open"), timeout=5) as response:
        assert response.read() == b"new"
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(urllib.request.Request(where.format("closed"), data=b"new", method="PUT"), timeout=5)
    with caught.value as denied:
        assert denied.code == 403 and b"<Code>AccessDenied</Code>" in denied.read()


def test_a_store_that_goes_refuses_and_may_come_back() -> None:
    """A stopped store refuses connections; started again it listens where it did."""
    store = ObjectStore({"b/good": BODY})
    store.start()
    where = store.endpoint
    store.stop()
    with pytest.raises(urllib.error.URLError, match="refused"):
        read(store, "good")
    store.start()
    assert store.endpoint == where and read(store, "good") == BODY
    store.stop()
