"""Who may ask the HTTP server: addresses, tokens, names, pages of other sites, and what is kept to itself."""

from __future__ import annotations

import base64
import hmac
import http.client
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from commands import Command
from http_site import TOKEN, Site, site
from scenes import Library

from aiscorr.errors import UsageError
from aiscorr.sandbox.question import Limits
from aiscorr.serve.web import access
from aiscorr.serve.web.settings import http_settings

SCENARIO = "target_killed_short_batch"
CLOSED = (
    "/", "/metrics", "/api/failures", "/api/query?sql=select+1", "/failures", "/style.css", "/none",
    "/sql?sql=select+1", "/lines?path=x&line=1", "/failures.atom", "/search?text=x", "/overview", "/jobs",
)  # fmt: skip


@pytest.fixture(scope="module")
def guarded(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server that wants a token."""
    folder = tmp_path_factory.mktemp("guarded")
    with site(library.database(SCENARIO), folder, environment={"AISCORR_HTTP_TOKEN": TOKEN}) as running:
        yield running


@pytest.fixture(scope="module")
def local(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server for this machine, without a token."""
    with site(library.database(SCENARIO), tmp_path_factory.mktemp("local")) as running:
        yield running


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"listen": "9464"}, "'9464' is no HOST:PORT"),
        ({"listen": ":9464"}, "':9464' is no HOST:PORT"),
        ({"listen": "::1:9464"}, "'::1:9464' is no HOST:PORT"),
        ({"listen": "127.0.0.1:70000"}, "is no HOST:PORT"),
        ({"listen": "http://x:1"}, "is no HOST:PORT"),
        ({"lisen": "127.0.0.1:1"}, "unknown key 'lisen'"),
        ({"listen": "0.0.0.0:9464"}, "can be reached from other machines, and no token is set"),
        ({"listen": "[::]:9464"}, "no token is set"),
        ({"listen": "site-7:9464"}, "no token is set"),
        ({"listen": "::ffff:127.0.0.1:80"}, "is no HOST:PORT"),
        ({"token_file": "none"}, "the token cannot be read"),
        ({"token_file": "open"}, "others than its owner may read or change the token"),
        ({"token_file": "short"}, "a token is 16 characters or more"),
        ({"token_file": "empty"}, "a token is 16 characters or more"),
        ({"cert": "open"}, "a certificate needs its key"),
        ({"cert": "open", "key": "open"}, "no certificate or key that can be used"),
        ({"queries": 0}, "a limit of queries must be greater than 0"),
        ({"query_memory": "1K"}, "'query_memory' must be 64MiB or more"),
        ({"query_memory": "much"}, "'much' is no size"),
        ({"query_rows": "all"}, "'query_rows' must be a int"),
    ],
)
def test_wrong_settings(values: dict[str, Any], said: str, tmp_path: Path) -> None:
    """What is wrong in [serve.http] is said with its place, before anything listens."""
    for name, text, mode in (("open", TOKEN, 0o644), ("short", "abc", 0o600), ("empty", "", 0o600)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    with pytest.raises(UsageError) as error:
        http_settings(values, {}, listen=None, base=str(tmp_path), where="aiscorr.toml")
    assert said in str(error.value) and error.value.where and TOKEN not in str(error.value)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o440])
def test_settings(mode: int, tmp_path: Path) -> None:
    """The flag goes before the table, the environment before the file, and the token is never shown."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "token").chmod(mode)
    values = {"listen": "127.0.0.1:1", "token_file": "token", "queries": 3, "query_seconds": 5, "query_memory": "1GiB"}
    known = http_settings(values, {}, listen="0.0.0.0:80", base=str(tmp_path), where="x")
    assert (known.host, known.port, known.token, known.is_local) == ("0.0.0.0", 80, TOKEN, False)
    assert known.limits == Limits(seconds=5, memory_bytes=1 << 30, at_a_time=3) and TOKEN not in repr(known)
    for environment in (
        {"AISCORR_HTTP_TOKEN": "x" * 16},
        {"AISCORR_HTTP_TOKEN": "x" * 16, "AISCORR_HTTP_TOKEN_FILE": "y"},
    ):
        assert http_settings(values, environment, listen=None, base=str(tmp_path), where="x").token == "x" * 16
    named = {"AISCORR_HTTP_TOKEN_FILE": str(tmp_path / "token")}
    assert http_settings({}, named, listen="[::]:1", base="/", where="x").token == TOKEN
    for listen in ("127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1"):
        assert http_settings({}, {}, listen=listen, base="/", where="x").is_local


def test_no_table(run: Command, tmp_path: Path) -> None:
    """What should be a table and is none is said."""
    (tmp_path / "cwd" / "aiscorr.toml").write_text('[serve]\nhttp = "127.0.0.1:9464"\n')
    for arguments in (("serve", "--only-http"), ("serve",), ("mcp",)):
        done = run(*arguments)
        assert done.code == 2 and "'http' must be a dict" in done.err, arguments


def test_beyond_this_machine(run: Command) -> None:
    """To listen for other machines without a token is a wrong use of the command."""
    done = run("serve", "--only-http", "--listen", "0.0.0.0:0")
    assert done.code == 2 and "no token is set" in done.err and "token_file" in done.err


def test_flags_that_do_not_fit(run: Command) -> None:
    """One run does not listen."""
    for flag in ("--once", "--status"):
        assert run("serve", flag, "--listen", "127.0.0.1:0").code == 2


@pytest.mark.parametrize("missing", ["uvicorn", "starlette"])
def test_without_the_extra(missing: str, run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the packages of the extra are not installed, the error says what to install."""
    monkeypatch.setitem(sys.modules, missing, None)
    done = run("serve", "--only-http")
    assert done.code == 2 and missing in done.err and "try: pip install '.[serve]' in the folder" in done.err


def basic(user: str, password: str) -> str:
    """As a browser sends them."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize("path", CLOSED)
def test_token(path: str, guarded: Site) -> None:
    """With a token set, nothing but the probes is answered without it."""
    wrong = ["", "Bearer", "Bearer wrong", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Token {TOKEN}", TOKEN,
             basic(TOKEN, "x"), "Basic ???", "Bearer \xe9"]  # fmt: skip
    for authorization in wrong:
        refused = guarded.get(path, {"Authorization": authorization})
        assert refused.status == 401 and refused.headers["www-authenticate"].startswith("Basic "), authorization
        assert refused.headers["x-frame-options"] == "DENY" and TOKEN not in refused.text
    for authorization in (f"Bearer {TOKEN}", f"bearer  {TOKEN}", basic("", TOKEN), basic("me", TOKEN)):
        assert guarded.get(path, {"Authorization": authorization}).status in (200, 404)
    assert guarded.get("/livez").status == guarded.get("/readyz").status == 200
    assert guarded.get("/livez", {"Host": "10.1.2.3:9464"}).status == 200, "a probe asks for the pod's address"


def test_comparison_takes_the_same_time(guarded: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared has one length whatever was given, by the function made for it."""
    compared: list[tuple[int, int]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(access, "hmac", type("Recorder", (), {"compare_digest": staticmethod(compare)}))
    for given in ("x", TOKEN, "y" * 1000):
        guarded.get("/metrics", {"Authorization": f"Bearer {given}"})
    assert compared == [(32, 32)] * 3


@pytest.mark.parametrize("host", ["evil.example", "evil.example:9464", "127.0.0.1.evil.example", "localhost.evil", ""])
def test_another_name_is_refused(host: str, local: Site) -> None:
    """Without a token a name that is not this machine's is refused, so that no page can lead its name here."""
    assert {local.get(path, {"Host": host}).status for path in ("/", "/api/failures", "/livez")} == {421}


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9464", "[::1]", "[::1]:80"])
def test_names_of_this_machine(host: str, local: Site) -> None:
    """The names of this machine are answered, whatever the port."""
    assert local.get("/api/failures", {"Host": host}).status == 200


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, "/api/query?sql=select+1", 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, "/", 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, "/api/query?sql=select+1", 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, "/failures", 200),
        ({"Sec-Fetch-Site": "same-origin"}, "/api/query?sql=select+1", 200),
        ({"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, "/api/failures", 200),
    ],
)
def test_pages_of_other_sites(headers: dict[str, str], path: str, status: int, local: Site) -> None:
    """A page of another site can link here, and cannot have its visitor ask for anything."""
    answer = local.get(path, headers)
    assert answer.status == status and "access-control-allow-origin" not in answer.headers


def test_headers(local: Site) -> None:
    """Every answer forbids scripts, frames and guessing of types, and is kept by no cache."""
    for path in ("/", "/none", "/api/failures", "/livez", "/failures/none"):
        headers = local.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'")
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_encrypted(library: Library, tmp_path: Path) -> None:
    """With a certificate it speaks TLS only."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificate, is not available")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem",
         "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    with site(library.database(SCENARIO), tmp_path, {"cert": "cert.pem", "key": "key.pem"}) as running:
        assert running.address.startswith("https://")
        parts = urlsplit(running.address)
        trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        connection = http.client.HTTPSConnection("127.0.0.1", parts.port, context=trusted, timeout=30)
        connection.request("GET", "/livez", headers={"Connection": "close"})
        assert connection.getresponse().read() == b"ok\n"
        connection.close()
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            running.get("/livez")
