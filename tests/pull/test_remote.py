"""Worker logs of a login node, over a stand-in for ssh that runs the script here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from scenes import REPO, column, rows
from serve_home import JOB, NOW, SCENARIO, setting, work
from stored_rows import leave_analysis_out

from aiscorr.errors import UsageError
from aiscorr.pull import remote
from aiscorr.pull.remote import Fetched, Place, fetch
from aiscorr.pull.ssh import Limits
from aiscorr.serve import run as one_run

SSH = """#!{python}
import os, sys
words = sys.argv[1:]
assert words[:5] == ["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"] and words[6] == "/bin/sh -s"
with open("{folder}/calls", "a") as calls:
    calls.write(words[5] + "\\n")
mode = open("{folder}/mode").read()
if mode == "dead":
    sys.stderr.write("No route\\n")
    sys.exit(255)
if mode == "hangs":
    import time
    time.sleep(60)
print("Welcome to the cluster", flush=True)
if mode == "cut":
    import subprocess
    out = subprocess.run(["/bin/sh", "-s"], stdin=sys.stdin, stdout=subprocess.PIPE).stdout
    is_cut = b"#file" in out
    sys.stdout.buffer.write(out[: int(open("{folder}/bytes").read())] if is_cut else out)
    sys.exit(255 if is_cut else 0)
os.execv("/bin/sh", ["/bin/sh", "-s"])
"""
LIMITS = Limits(20, 60, lambda: False)
TEXT = b"2026-09-14 10:20:05,417 INFO [rank 0] train:204 - step 1 done\n" * 200


class Login:
    """A host with logs below a folder, and the spool that they are fetched into."""

    def __init__(self, base: Path) -> None:
        self.base, self.logs, self.spool = base, base / "there" / "logs", base / "spool"
        self.logs.mkdir(parents=True)
        (base / "bin").mkdir()
        (base / "bin" / "ssh").write_text(SSH.format(python=sys.executable, folder=base))
        (base / "bin" / "ssh").chmod(0o755)
        self.behave("well")

    def behave(self, mode: str) -> None:
        """How the next calls go."""
        (self.base / "mode").write_text(mode)

    def write(self, name: str, content: bytes) -> Path:
        """A file of the host."""
        path = Path(os.fsdecode(os.fsencode(str(self.logs)) + b"/" + os.fsencode(name)))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def fetch(self, template: str = "{job_id}/*.out", limits: Limits = LIMITS, max_bytes: int = 1 << 30) -> Fetched:
        """One fetch of what fits."""
        place = Place("me@login1", f"{self.logs}/{template}")
        return fetch(place, str(self.spool), limits, max_bytes=max_bytes, since_ns=0)

    def here(self) -> dict[str, bytes]:
        """The copies by their path on the host, below its logs."""
        base = self.spool / "me@login1:" / str(self.logs).lstrip("/")
        return {str(path.relative_to(base)): path.read_bytes() for path in base.rglob("*") if path.is_file()}

    def calls(self) -> int:
        """How often ssh ran."""
        path = self.base / "calls"
        return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.fixture
def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Login:
    """A login node with nothing on it."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return Login(tmp_path)


def test_only_new_bytes_come(login: Login) -> None:
    """The first fetch brings all, in one listing and one call; later ones what files have grown by."""
    first, second = login.write("7/a.out", TEXT), login.write("8/b.out", b"")
    login.write("7/notes.txt", b"x")
    assert login.fetch() == Fetched(len(TEXT), 2) and login.calls() == 2
    assert login.here() == {"7/a.out": TEXT, "8/b.out": b""}
    assert login.fetch() == Fetched() and login.calls() == 3
    first.write_bytes(TEXT + b"more\n")
    assert login.fetch() == Fetched(5, 1)
    assert login.here()["7/a.out"] == TEXT + b"more\n"
    copy = login.spool / "me@login1:" / str(first).lstrip("/")
    assert copy.stat().st_mtime_ns == first.stat().st_mtime_ns and second.exists()


@pytest.mark.parametrize(
    "change", [TEXT[: len(TEXT) // 2], b"X" + TEXT[1:] + b"more", TEXT[:-1] + b"X" + TEXT, TEXT[:-5] + b"other"]
)
def test_a_file_that_is_another_comes_whole(change: bytes, login: Login) -> None:
    """Cut, replaced, or changed at its beginning or where it ended: the copy is what the file is."""
    path = login.write("7/a.out", TEXT)
    login.fetch()
    path.write_bytes(change)
    os.utime(path, ns=(1, 1_700_000_000_000_000_000))
    assert login.fetch().problems == ()
    assert login.here() == {"7/a.out": change}


def test_a_file_that_was_only_renamed_away_and_back_is_not_sent_again(login: Login) -> None:
    """A file with another inode and the same bytes is known by them."""
    path = login.write("7/a.out", TEXT)
    login.fetch()
    path.unlink()
    login.write("7/a.out", TEXT + b"end\n")
    assert login.fetch() == Fetched(4, 1)


def test_hostile_names(login: Login) -> None:
    """Quotes, blanks, line ends, dollars, dashes and bytes that are no text are parts of names and nothing more."""
    names = [
        "7/it's $(touch x).out",
        "7/-rf.out",
        '7/a\n"b`id`.out',
        "7/\udcff\udcfe.out",
        "7/[a-z]*?.out",
        "7/ é ;.out",
    ]
    for number, name in enumerate(names):
        login.write(name, TEXT + str(number).encode())
    assert login.fetch() == Fetched(len(names) * (len(TEXT) + 1), len(names))
    assert login.here() == {name: TEXT + str(number).encode() for number, name in enumerate(names)}
    assert not list(login.base.rglob("x"))


def test_paths_fit_as_they_do_here(login: Login) -> None:
    """A star does not cross a folder, two do; hidden files and what lies deeper are left."""
    for name in ("7/a.out", "7/deep/a.out", "7/.hidden.out", ".git/a.out", "a.out"):
        login.write(name, TEXT)
    login.fetch()
    assert set(login.here()) == {"7/a.out"}
    login.fetch("**/*.out")
    assert set(login.here()) == {"7/a.out", "7/deep/a.out", "a.out"}


def test_any_bytes_come_as_they_are(login: Login) -> None:
    """Dumps are not text: every byte comes, also lines that look like the answer's own."""
    content = bytes(range(256)) * 500 + b"\n#end\n#file 0\naiscorr-begin\n"
    login.write("7/a.out", content)
    login.fetch()
    assert login.here() == {"7/a.out": content}


def test_what_cannot_be_read_stops_nothing(login: Login, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be read is named, and the others come."""
    login.write("7/b.out", TEXT)
    bad = login.write("7/a.out", TEXT)
    listed = remote.list_files

    def gone_meanwhile(*arguments: object) -> object:
        found = listed(*arguments)  # type: ignore[arg-type]
        bad.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(remote, "list_files", gone_meanwhile)
    done = login.fetch()
    assert done.problems == (f"me@login1:{bad}: it cannot be read",)
    assert login.here() == {"7/b.out": TEXT}


@pytest.mark.parametrize(
    ("mode", "limits", "said"),
    [
        ("dead", LIMITS, "the host is not reached: No route"),
        ("hangs", Limits(0.5, 60, lambda: False), "the host was silent, or not done, for 0.5 s"),
        ("hangs", Limits(60, 60, lambda: True), "stopped"),
    ],
)
def test_a_host_that_does_not_answer(mode: str, limits: Limits, said: str, login: Login) -> None:
    """A host that is down or hangs is left after a while, or when the service is to stop, and that is said."""
    login.write("7/a.out", TEXT)
    login.behave(mode)
    begun = time.monotonic()
    assert login.fetch(limits=limits).problems == (f"me@login1:{login.logs}/{{job_id}}/*.out: {said}",)
    assert time.monotonic() - begun < 15
    login.behave("well")
    assert login.fetch().byte_count == len(TEXT)


def test_a_transfer_that_breaks_is_gone_on_with(login: Login) -> None:
    """Wherever a call breaks off, what came is kept as the beginning of its file, and in the end all is there once."""
    contents = {f"7/{name}.out": os.urandom(30_000) + TEXT for name in "abc"}
    for name, content in contents.items():
        login.write(name, content)
    login.behave("cut")
    for count in (5, 100, 20_000, 41_000, 60_000, 85_000, 100_000):
        (login.base / "bytes").write_text(str(count))
        assert "the host is not reached" in "".join(login.fetch().problems) or login.here() == contents
        assert all(contents[name].startswith(content) for name, content in login.here().items())
    assert any(login.here().values())
    login.behave("well")
    assert login.fetch().problems == () and login.here() == contents


KILLED = """
import sys; sys.path.insert(0, {tests!r})
from pathlib import Path
from aiscorr.pull.remote import Place, fetch
from aiscorr.pull.ssh import Limits
fetch(Place("me@login1", sys.argv[1]), sys.argv[2], Limits(20, 60, lambda: False), max_bytes=1 << 30, since_ns=0)
"""


@pytest.mark.slow
def test_a_fetch_that_is_killed_loses_and_doubles_nothing(login: Login) -> None:
    """Killed at any moment, copies are beginnings of their files, and the next fetch completes them."""
    contents = {f"7/{number}.out": os.urandom(1 << 20) for number in range(6)}
    for name, content in contents.items():
        login.write(name, content)
    code = KILLED.format(tests=str(REPO / "tests" / "support"))
    for delay in (0.2, 0.35, 0.5):
        process = subprocess.Popen([sys.executable, "-c", code, f"{login.logs}/*/*.out", str(login.spool)])
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        for name, content in contents.items():
            (login.logs / name).write_bytes(content + b"grown\n")
        assert all((contents[name] + b"grown\n").startswith(found) for name, found in login.here().items())
    assert login.fetch().problems == ()
    assert login.here() == {name: content + b"grown\n" for name, content in contents.items()}


def test_the_spool_is_bounded(login: Login) -> None:
    """Where the spool is full the fetch says so and keeps what came."""
    login.write("7/a.out", os.urandom(400_000))
    done = login.fetch(max_bytes=300_000)
    assert "the spool is full" in done.problems[0]
    assert sum(map(len, login.here().values())) <= 300_000


CONFIG = """
[serve]
recent = "9000d"
wait = "10m"
[[serve.cluster]]
logs = ["ais"]
[[serve.jobs]]
path = "me@login1:{logs}/{{job_id}}/error-*.out"
[pull]
keep_days = 0.001
"""


def test_the_service_follows_a_login_node(login: Login) -> None:
    """A failure on a login node gets its report, cited by host and path; copies go once they are read and old."""
    home = login.base
    (home / "aiscorr.toml").write_text(CONFIG.format(logs=login.logs))
    (home / "ais").symlink_to(SCENARIO / "ais")
    for node in (0, 1):
        login.write(
            f"job-{JOB}/error-{JOB}-{node}.out", (SCENARIO / "workers" / f"error-{JOB}-{node}.out").read_bytes()
        )
    login.behave("dead")
    with pytest.MonkeyPatch.context() as patch:
        leave_analysis_out(patch)
        patch.setattr(one_run, "_report", lambda *_: None)
        first = work(home)
    assert first.outcome == "partial" and "the host is not reached" in first.problems[0] and not first.reports
    login.behave("well")
    second = work(home)
    assert second.outcome == "ok" and len(second.reports) == 1
    _, settings = setting(home)
    paths = column(settings.db_path, "select path from source_file where kind = 'worker_log' order by path")
    assert all(f"/me@login1:{login.logs}/job-{JOB}/error-" in path for path in paths) and len(paths) == 2
    assert column(settings.db_path, "select distinct job_id from job") == [f"job-{JOB}"]
    later = work(home, NOW + timedelta(days=9000))
    assert later.problems == () and not list((home / "aiscorr-remote").rglob("error-*"))
    assert work(home, NOW).file_count == 0 and rows(settings.db_path, "select count(*) from failure") == [(1,)]


@pytest.mark.parametrize(
    "path", ["login1:logs/*.out", "-oProxyCommand=x:/logs/*.out", "a b:/x", "login1:/logs/[ab].out"]
)
def test_wrong_remote_paths(path: str, tmp_path: Path) -> None:
    """A host that is none, a path from somewhere, and brackets are refused."""
    (tmp_path / "aiscorr.toml").write_text(f"[serve]\n[[serve.jobs]]\npath = '{path}'\n")
    with pytest.raises(UsageError, match="no path of another host"):
        setting(tmp_path)
