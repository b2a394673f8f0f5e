"""Who is told of failures: each kind of target, once, again on a change, and what cannot be delivered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from serve_home import CONFIG, arrive, furnish, setting, work

from aiscorr.errors import UsageError


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the service has reported a failure."""
    home = furnish(tmp_path_factory.mktemp("reported"))
    arrive(home, 1)
    assert len(work(home).reports) == 1
    return home


@pytest.fixture
def home(reported: Path) -> Path:
    """The same, where nobody has been told of it and no target is configured."""
    (reported / "aiscorr.toml").write_text(CONFIG)
    (reported / "reports" / "notified.json").unlink(missing_ok=True)
    return reported


@dataclass
class Receiver:
    """A server on this host that takes notifications, or refuses them."""

    url: str
    status: int = 200
    bodies: list[Any] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A server that runs as long as the test."""
    receiver = Receiver("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(receiver.status)
            self.end_headers()
            if receiver.status == 200:
                receiver.bodies.append(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        receiver.url = f"http://127.0.0.1:{server.server_port}/T0/SECRET"
        yield receiver
        server.shutdown()
        thread.join()


def add_target(home: Path, text: str) -> None:
    """One more table for the configuration."""
    with (home / "aiscorr.toml").open("a") as file:
        file.write(f"\n[[serve.notify]]\n{text}\n")


def test_people_are_told_once(home: Path, receiver: Receiver) -> None:
    """Each kind of target hears of the failure once, in its own form."""
    (home / "url").write_text(receiver.url)
    (home / "url").chmod(0o600)
    add_target(home, f'kind = "webhook"\nurl = "{receiver.url}"')
    add_target(home, 'kind = "slack"\nurl_file = "url"')
    add_target(home, f'kind = "alertmanager"\nurl = "{receiver.url}"')
    add_target(home, f'kind = "command"\ncommand = ["tee", "{home}/told"]')
    add_target(home, f'kind = "webhook"\nname = "sure"\nurl = "{receiver.url}"\nconfidence = 0.999')
    assert work(home).problems == () and work(home).problems == ()
    webhook, slack, alerts = receiver.bodies
    assert webhook["failure"]["storage_verdict"] == "guilty" and webhook["failure"]["culprit_ranks"] == [5]
    assert slack["text"].startswith("*storage guilty in train-7.") and "Rank 5" in slack["text"]
    assert alerts[0]["labels"]["job_id"] == "train-7" and alerts[0]["startsAt"].endswith("Z")
    assert json.loads((home / "told").read_text()) == webhook


def test_a_changed_verdict_is_told(home: Path, receiver: Receiver) -> None:
    """When more logs take the blame from storage, who was told of it is told that."""
    add_target(home, f'kind = "slack"\nurl = "{receiver.url}"')
    work(home)
    failure = json.loads((home / "reports" / "notified.json").read_text())
    (key,) = failure
    failure[key]["verdict"] = "guilty data"
    (home / "reports" / "notified.json").write_text(json.dumps(failure))
    work(home)
    assert [body["text"].startswith("*changed: ") for body in receiver.bodies] == [False, True]


def test_what_cannot_be_delivered_is_tried_again_and_given_up(home: Path, receiver: Receiver) -> None:
    """A target that refuses is a problem of the run, without its address; after five tries there is no more."""
    add_target(home, f'kind = "slack"\nurl = "{receiver.url}"')
    receiver.status = 500
    said = [work(home).problems for _ in range(6)]
    assert all(len(problems) == 1 and "HTTP 500" in problems[0] for problems in said[:5]) and said[5] == ()
    assert said[0][0].endswith("tried again at the next run") and said[4][0].endswith("given up after 5 tries")
    assert "SECRET" not in repr(said) + (home / "reports" / "notified.json").read_text()


def test_a_later_try_delivers(home: Path, receiver: Receiver) -> None:
    """A server that was away for a run is told at the next."""
    add_target(home, f'kind = "webhook"\nurl = "{receiver.url}"')
    receiver.status = 503
    assert len(work(home).problems) == 1
    receiver.status = 200
    assert work(home).problems == () and len(receiver.bodies) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('kind = "pager"', "kind = 'pager' is not known"),
        ('kind = "slack"', "slack needs url or url_file"),
        ('kind = "slack"\nurl = "https://x"\nurl_file = "y"', "slack needs url or url_file"),
        ('kind = "command"\nurl = "https://x"', "command needs command"),
        ('kind = "slack"\nurl = "ftp://x"', "must begin with http"),
        ('kind = "slack"\nurl_file = "aiscorr.toml"', "others than its owner may read or change the address"),
        ('kind = "slack"\nurl_file = "none"', "cannot be read"),
        ('kind = "slack"\nurl = "https://x"\nconfidence = 7', "from 0 to 1"),
    ],
)
def test_wrong_target(text: str, said: str, tmp_path: Path) -> None:
    """What is wrong in [[serve.notify]] is said with its place."""
    home = furnish(tmp_path, ais=False)
    (home / "aiscorr.toml").chmod(0o644)
    add_target(home, text)
    with pytest.raises(UsageError) as error:
        setting(home)
    assert said in str(error.value) and "[[serve.notify]]" in str(error.value)
