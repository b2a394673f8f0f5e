"""How pull reaches a cluster: TLS with a CA of its own, tokens from files, settings, and mistakes in them."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from commands import Command, Outcome
from live_cluster import FakeCluster, fake_cluster
from pytest_httpserver import HTTPServer
from scenes import rows
from werkzeug.serving import WSGIRequestHandler

from aiscorr.config import load_settings
from aiscorr.pull.clean import clean

DB = "aiscorr.duckdb"
TARGET, OTHER = "Kdut6002", "Rvst6003"
LINE = "W 10:04:11.120400 common:592 t[Kdut6002] CPU utilization: high [ 61 58 ]\n"


@pytest.fixture(autouse=True)
def quiet_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The web server says nothing."""
    monkeypatch.setattr(WSGIRequestHandler, "log_request", lambda self, code="-", size="-": None)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """One proxy and two targets."""
    with HTTPServer(threaded=True) as server:
        yield fake_cluster(server)


def made_by_openssl(folder: Path, *arguments: str) -> None:
    """Runs openssl in a folder."""
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA, the certificate of a server at 127.0.0.1 and that of a client, both signed by it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificates, is not available")
    folder = tmp_path_factory.mktemp("certificates")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    made_by_openssl(folder, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
                    "-subj", "/CN=CA", "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # fmt: skip
    for name, subject in (("server", "/CN=ais-proxy-0"), ("client", "/CN=aiscorr")):
        (folder / "san").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        made_by_openssl(folder, "req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
        made_by_openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                        "-CAcreateserial", "-days", "2", "-extfile", "san", "-out", f"{name}.pem")  # fmt: skip
    return folder


@pytest.fixture
def tls_cluster(certificates: Path) -> Iterator[FakeCluster]:
    """A cluster behind TLS that wants a client certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    context.load_verify_locations(certificates / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with HTTPServer(threaded=True, ssl_context=context) as server:
        yield fake_cluster(server)


@pytest.fixture
def pull_tls(run: Command, tls_cluster: FakeCluster, certificates: Path) -> Callable[..., Outcome]:
    """Runs `aiscorr pull` on it with the client certificate."""
    own = ("--cert", certificates / "client.pem", "--key", certificates / "client.key")
    return lambda *more: run("pull", "--no-ingest", "--endpoint", tls_cluster.url, *own, *more)


def test_tls(pull_tls: Callable[..., Outcome], certificates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CA by flag, or by AIS_CLIENT_CA, whatever REQUESTS_CA_BUNDLE says; nothing is said about it."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates / "client.pem"))
    outcome = pull_tls("--ca", certificates / "ca.pem")
    assert (outcome.code, outcome.err) == (0, "")
    monkeypatch.setenv("AIS_CLIENT_CA", str(certificates / "ca.pem"))
    assert pull_tls().code == 0


def test_server_certificate_variable(
    pull_tls: Callable[..., Outcome], certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AIS_SERVER_CRT, which AIStore's command line knows, is taken as the CA, and that is said."""
    monkeypatch.setenv("AIS_SERVER_CRT", str(certificates / "ca.pem"))
    outcome = pull_tls()
    assert outcome.code == 0
    assert outcome.err.startswith("notice: AIS_SERVER_CRT is taken as the CA of the cluster")


def test_unknown_ca(pull_tls: Callable[..., Outcome]) -> None:
    """A certificate that no known CA has signed is refused, with what to do; --skip-verify takes it and says so."""
    outcome = pull_tls()
    assert outcome.code == 1
    assert "certificate" in outcome.err and "  try: the CA that signed it: --ca FILE" in outcome.err
    outcome = pull_tls("--skip-verify")
    assert outcome.code == 0
    assert outcome.err.startswith("notice: the cluster's certificate is not verified")


def test_bad_certificate_files(run: Command, tmp_path: Path) -> None:
    """A CA that is none, a missing key and a missing file are mistakes of the user."""
    (tmp_path / "none.pem").write_text("nothing")
    for arguments, words in (
        (("--ca", tmp_path / "none.pem"), "no certificate or key that can be used"),
        (("--ca", tmp_path / "gone.pem"), "the file cannot be read"),
        (("--cert", tmp_path / "none.pem"), "a client certificate needs its key"),
        (("--endpoint", "http://me:hush@proxy:51080"), "an endpoint holds no user and no password"),
        (("--endpoint", "ftp://proxy"), "is no address of a proxy"),
        (("--max-spool", "much"), "'much' is no size"),
    ):
        outcome = run("pull", "--endpoint", "https://127.0.0.1:9", *arguments)
        assert (outcome.code, outcome.out) == (2, "") and words in outcome.err and "hush" not in outcome.err
    assert "no cluster is named" in run("pull").err


@pytest.mark.parametrize("text", ["right-token\n", '{"token": "right-token"}'], ids=["bare", "as the CLI keeps it"])
def test_token_file(text: str, run: Command, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token is read from a file by flag, variable or setting, unless others may read the file."""
    cluster.token = "right-token"
    path = Path("token")
    path.write_text(text)
    path.chmod(0o644)
    pull = ("pull", "--no-ingest", "--endpoint", cluster.url)
    outcome = run(*pull, "--token-file", path)
    assert outcome.code == 2
    assert "others than its owner may read or change the token (mode 0644)" in outcome.err
    assert "chmod 600 token" in outcome.err and "right-token" not in outcome.err
    path.chmod(0o600)
    monkeypatch.setenv("AIS_AUTHN_TOKEN", "stale-token")
    assert run(*pull, "--token-file", path).code == 0
    assert run(*pull).code == 1
    monkeypatch.delenv("AIS_AUTHN_TOKEN")
    monkeypatch.setenv("AIS_AUTHN_TOKEN_FILE", "token")
    assert run(*pull).code == 0
    monkeypatch.delenv("AIS_AUTHN_TOKEN_FILE")
    Path("aiscorr.toml").write_text('[pull]\ntoken_file = "token"\n')
    assert run(*pull).code == 0


def test_token_file_without_token(run: Command) -> None:
    """A file without a token, or with something else in it, is a mistake of the user."""
    for text in ("", "{}", "{", "two words"):
        Path("token").write_text(text)
        Path("token").chmod(0o600)
        outcome = run("pull", "--endpoint", "http://127.0.0.1:9", "--token-file", "token")
        assert outcome.code == 2 and "there is no token in the file" in outcome.err


def test_netrc_does_not_replace_the_token(
    run: Command, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A password that ~/.netrc holds for the host is not sent in the token's place."""
    (tmp_path / "netrc").write_text("machine localhost login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("AIS_AUTHN_TOKEN", "right-token")
    cluster.token = "right-token"
    assert run("pull", "--no-ingest", "--endpoint", cluster.url).code == 0


def test_settings(tmp_path: Path) -> None:
    """[pull] is read with its paths relative to the file, and the environment goes before it."""
    (tmp_path / "aiscorr.toml").write_text(
        'endpoint = "http://p:51080"\n[pull]\nout = "spool"\nmax_spool = "1.5GiB"\nkeep_days = 3\nnodes = 2\n'
        'timeout_s = 7\nca = "ca.pem"\ncert = "c.pem"\nkey = "c.key"\nskip_verify = true\n'
    )
    found = load_settings(db=None, config=None, environment={}, folder=str(tmp_path)).pull
    assert (found.out, found.ca, found.max_spool) == (str(tmp_path / "spool"), str(tmp_path / "ca.pem"), 3 << 29)
    assert (found.keep_days, found.node_count, found.read_s, found.skip_verify) == (3, 2, 7, True)
    said = {"AIS_READ_TIMEOUT": "9", "AIS_CLIENT_CA": "/x", "AIS_SKIP_VERIFY_CRT": "false", "AIS_CONNECT_TIMEOUT": "0"}
    assert load_settings(
        db=None, config=None, environment={"AIS_SERVER_CRT": "/server"}, folder=str(tmp_path)
    ).pull.ca == str(tmp_path / "ca.pem")
    found = load_settings(db=None, config=None, environment=said, folder=str(tmp_path)).pull
    assert (found.read_s, found.ca, found.skip_verify, found.connect_s) == (9, "/x", False, 3)
    assert "hush" not in repr(load_settings(db=None, config=None, environment={"AIS_AUTHN_TOKEN": "hush"}, folder="/"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nods = 3", "unknown key 'nods'"),
        ("nodes = 17", "'nodes' must be 1 to 16, not 17"),
        ("nodes = true", "'nodes' must be a int, not True"),
        ("keep_days = 0", "'keep_days' must be greater than 0, not 0"),
        ("keep_days = 'x'", "'keep_days' must be a number, not 'x'"),
        ("max_spool = '10 apples'", "'10 apples' is no size"),
    ],
)
def test_wrong_settings(line: str, words: str, run: Command) -> None:
    """A mistake under [pull] is said with its place."""
    Path("aiscorr.toml").write_text(f"[pull]\n{line}\n")
    outcome = run("pull")
    assert outcome.code == 2
    assert words in outcome.err and "aiscorr.toml [pull]" in outcome.err


def test_spool_is_cleaned_only_of_what_was_ingested(run: Command, cluster: FakeCluster) -> None:
    """After the set days files that are in the database go, nothing else does, and no later pull brings them back."""
    pull = ("pull", "--endpoint", cluster.url, "--out", "spool")
    assert run(*pull, "--no-ingest").code == 0
    assert run(*pull).code == 0
    files = sorted(path.name for path in Path("spool").rglob("ais*.1"))
    assert len(files) == 12
    node = cluster.nodes[TARGET]
    node.write("W 10:04:11.120400 common:592 t[Kdut6002] CPU utilization: high [ 61 58 ]\n")
    assert run(*pull, "--no-ingest").code == 0
    now = datetime.now(UTC)
    limits = {"keep_days": 14.0, "max_bytes": 10 << 30}
    assert clean("spool", "aiscorr.duckdb", **limits, now=now + timedelta(days=13)) == (0, 0)
    assert clean("spool", "aiscorr.duckdb", **limits, now=now + timedelta(days=15))[0] == 11 + 2
    grown, record = sorted(p.name for p in Path("spool").rglob("*.*") if p.is_file() and p.name[0] != ".")
    assert {grown, record[:5]} == {node.current(), "pull-"}
    node.rotate("Rotated at 2026/10/05 10:04:30, host ais-target-0, go1.26.3 for linux/amd64\n")
    assert run(*pull).code == 0
    assert sorted(path.name for path in Path("spool").rglob("ais*.1")) == sorted({grown, node.current()})
    repeated = "select cluster, node_id, utc_ns, text, count(*) from ais_event group by all having count(*) > 1"
    assert rows("aiscorr.duckdb", repeated) == []


def test_little_room(run: Command, cluster: FakeCluster) -> None:
    """A spool that is more than half full loses its oldest logs once they are in the database, but none that grows."""
    outcome = run("pull", "--endpoint", cluster.url, "--out", "spool", "--max-spool", "10KiB")
    assert outcome.code == 0
    assert "removed from the spool: " in outcome.out
    left = {path.name for path in Path("spool").rglob("ais*.1")}
    assert {node.current(severity) for node in cluster.nodes.values() for severity in ("info", "error")} <= left


def test_a_node_that_left_the_map(run: Command, cluster: FakeCluster) -> None:
    """A node that is in the map no more is named once, with its gap and exit code 3; what others wrote comes."""
    command = ("pull", "--endpoint", cluster.url, "--timeout", "2")
    assert run(*command).code == 0
    gone = cluster.smap["tmap"].pop(OTHER)
    cluster.smap["version"] = int(cluster.smap["version"]) + 1
    cluster.nodes[TARGET].write(LINE)
    outcome = run(*command)
    assert outcome.code == 3
    assert f"not pulled: target {OTHER}: it has left the cluster map since the last pull" in outcome.out
    assert rows("aiscorr.duckdb", "select node_id, part, reason like '%Smap v%' from pull_gap") == [
        (OTHER, "all", True)
    ]
    assert rows("aiscorr.duckdb", "select text from ais_line where text = ?", [LINE.rstrip()]) == [(LINE.rstrip(),)]
    assert run(*command).code == 0
    cluster.smap["tmap"][OTHER] = gone
    assert run(*command).code == 0
