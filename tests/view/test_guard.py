"""Access to the server, and the security headers that it sends to a browser."""

from __future__ import annotations

import json
import socket
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks._view_server import Served, serve
from oversight.harness.errors import ConfigError
from oversight.harness.platform import cache_dir, host_name
from oversight.harness.view.server.application import read_token
from oversight.harness.web import PublicAddress


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1.evil.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Host": "192.168.0.1:{port}"},
        {"Host": "[::ffff:1.2.3.4]:{port}"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/frame", "/api/changes", "/script.js"])
def test_foreign_names_and_pages_are_refused(served: Served, headers: dict[str, str], path: str) -> None:
    filled = {name: value.format(port=served.port) for name, value in headers.items()}
    response, body = served.ask(path, **filled)
    assert response.status == 403
    assert b"Colours" not in body


def test_requests_to_loopback_names_are_answered(served: Served) -> None:
    for host in ("127.0.0.1", "localhost", "[::1]"):
        own = f"{host}:{served.port}"
        assert served.ask("/api/frame", Host=own, Origin=f"http://{own}")[0].status == 200


@pytest.mark.parametrize(
    "cookie", ["", "oversight-{port}=", "oversight-{port}={token}", "oversight-{port}=é"]
)
def test_without_the_cookie_nothing_of_the_study_is_told(served: Served, cookie: str) -> None:
    filled = cookie.format(port=served.port, token=served.token)
    for path in ("/api/frame", "/api/items", "/api/changes", "/api/nothing"):
        response, body = Served(served.url, served.process).ask(
            path, Cookie=filled.encode().decode("latin-1")
        )
        assert response.status == 403
        assert b"Colours" not in body


@pytest.mark.parametrize("given", ["", "Bearer ", "Bearer x", "Basic {token}", "Bearer {token}x"])
def test_wrong_token_is_refused(served: Served, given: str) -> None:
    response, _ = served.ask("/session", "POST", Authorization=given.format(token=served.token))
    assert response.status == 403
    assert response.getheader("Set-Cookie") is None


def test_cookie_is_limited_to_this_page(served: Served) -> None:
    response, _ = served.ask("/session", "POST", Authorization=f"Bearer {served.token}")
    cookie = response.getheader("Set-Cookie") or ""
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert served.token not in cookie


@pytest.mark.parametrize("path", ["/", "/script.js", "/style.css", "/api/frame", "/api/nothing", "/nowhere"])
def test_every_answer_says_what_the_page_may_do(served: Served, path: str) -> None:
    response, _ = served.ask(path)
    policy = response.getheader("Content-Security-Policy") or ""
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert response.getheader("X-Content-Type-Options") == "nosniff"
    assert response.getheader("Cache-Control") == "no-store"
    assert response.getheader("Access-Control-Allow-Origin") is None


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_written(served: Served, method: str) -> None:
    for path in ("/", "/api/frame", "/api/items"):
        assert served.ask(path, method)[0].status == 405


def test_it_listens_on_the_loopback_alone(served: Served) -> None:
    address = (_own_address(), served.port)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=5)


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no address but the loopback's")
        return str(probe.getsockname()[0])


def test_beyond_the_loopback_only_when_asked(folder: Path) -> None:
    with serve(folder, 0, "--expose", "0.0.0.0") as served:  # noqa: S104  that is what is tested
        assert served.ask("/api/frame", Host=f"192.168.7.7:{served.port}")[0].status == 200
        assert served.ask("/api/frame", Host=f"evil.example:{served.port}")[0].status == 403


def test_a_name_that_is_exposed_is_answered_however_it_is_written(folder: Path) -> None:
    with serve(folder, 0, "--expose", "localhost") as served:
        assert urlsplit(served.url).hostname == "localhost"
        for host in ("localhost", "LOCALHOST"):
            assert served.ask("/api/frame", Host=f"{host}:{served.port}")[0].status == 200
    address = PublicAddress(host="0.0.0.0", port=9)  # noqa: S104  that is what is tested
    assert address.knows(f"{host_name()}:9")
    assert address.knows(f"{host_name().upper()}:9")


def test_names_without_a_port_are_those_of_port_80() -> None:
    """Headers as browsers write them."""
    address = PublicAddress(host="127.0.0.1", port=80)
    assert all(address.knows(host) for host in ("127.0.0.1", "localhost", "[::1]", "LOCALHOST:80"))
    assert not any(address.knows(host) for host in ("", "evil.example", "[::1", "127.0.0.1:81", "127.0.0.1:"))
    assert not any(PublicAddress(host="127.0.0.1", port=81).knows(host) for host in ("127.0.0.1", "[::1]"))
    named = PublicAddress(host="Box.example", port=9)
    assert named.knows("box.example:9")
    assert not named.knows("other.example:9")


@pytest.mark.parametrize(
    "field", [b"Cookie: oversight-%d=\xe9", b"Cookie: %d\xff=1; ;;", b"Authorization: Bearer %d\xe9"]
)
def test_bytes_that_are_no_text_are_refused(served: Served, field: bytes) -> None:
    method = b"POST /session" if b"Bearer" in field else b"GET /api/frame"
    own = b"Host: 127.0.0.1:%d\r\nConnection: close" % served.port
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        connection.sendall(b"%b HTTP/1.1\r\n%b\r\n%b\r\n\r\n" % (method, own, field % served.port))
        assert connection.recv(1000).startswith(b"HTTP/1.1 403 ")


def test_cookies_of_other_servers_do_not_stand_in_the_way(served: Served) -> None:
    others = "; ".join([f"other-{j}={'x' * 900}" for j in range(30)] + ['odd={"a": [1, 2]}', "no value"])
    assert served.ask("/api/frame", Cookie=f"{others}; {served.cookie}")[0].status == 200


def test_malformed_requests_are_refused_without_terminal_output(folder: Path) -> None:
    with serve(folder) as served:
        for line in (b"\x16\x03\x01\x00\xa5\x01\r\n\r\n", b"FOO / HTTP/1.1\r\n\r\n", b"GET / HTTP/9\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
                connection.sendall(line)
                assert connection.recv(1000).startswith(b"HTTP/1.0 400 ")
        # a GET request of this address would never end
        assert served.ask("/api/changes", "HEAD")[0].status == 400
    assert served.errors == [""]


def test_each_study_has_a_token_of_its_own_and_the_same_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Study files name their database relative to their folder."""
    tokens = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        tokens.append(read_token("sqlite:///study.db"))
    monkeypatch.chdir(tmp_path)
    assert tokens[0] != tokens[1]
    assert [read_token(f"sqlite:///{name}/study.db") for name in ("one", "two")] == tokens
    assert read_token(f"sqlite:///{tmp_path}/one/../two/study.db") == tokens[1]


def test_servers_that_start_at_once_keep_the_same_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(read_token, [f"sqlite:///{tmp_path}/new.db"] * 32))
    assert len(found) == 1


def test_a_token_file_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # other tests create tokens at the same time
    monkeypatch.setenv("OVERSIGHT_CACHE", str(tmp_path / "cache"))
    url = f"sqlite:///{tmp_path}/odd.db"
    token = read_token(url)
    (path,) = (cache_dir() / "view").glob("*.token")
    path.rename(tmp_path / "kept")
    path.symlink_to(tmp_path / "kept")
    with pytest.raises(ConfigError, match="remove the file"):
        read_token(url)
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError, match="remove the file"):
        read_token(url)
    path.rmdir()
    path.write_text("short")
    path.chmod(0o600)
    assert len(read_token(url)) >= 32
    assert read_token(url) != token


def test_the_token_is_kept_and_its_owner_s_alone(folder: Path, served: Served) -> None:
    with serve(folder) as again:
        assert again.token == served.token
    kept = [path for path in (cache_dir() / "view").iterdir() if path.read_text() == served.token]
    assert [stat.S_IMODE(path.stat().st_mode) for path in kept] == [0o600]


def test_port_in_use_is_reported(folder: Path, served: Served, capfd: pytest.CaptureFixture[str]) -> None:
    from oversight.harness.cli.main import main

    words = ["view", "--study", str(folder / "study.toml"), "--port", str(served.port)]
    assert main(words) == 2
    assert "cannot listen" in capfd.readouterr().err
    assert main([*words[:-1], "70000"]) == 2


def test_wrong_parameters_are_reported(served: Served) -> None:
    for path, said in {
        "/api/nothing": "no part 'nothing'",
        "/api/closing": "model",
        "/api/closing?model=good&more=1": "more",
        "/api/items?outcome=odd": "outcome: must be one of",
        "/api/items?limit=0": "limit",
        "/api/items?limit=9999": "limit",
        "/api/items?after=x": "after: must be a whole number",
        "/api/items?after=1&before=2": "not both",
        "/api/items?expert=nobody": "there is no expert 'nobody'",
        "/api/items?nothing=1": "no filter 'nothing'",
        "/api/item?id=nothing": "no item 'nothing'",
    }.items():
        response, body = served.ask(path)
        assert response.status == 400, path
        assert said in json.loads(body)["error"], path


def test_the_browser_is_led_there_by_a_private_file() -> None:
    from oversight.harness.cli.verbs.view import write_door

    address = urlsplit(write_door("http://127.0.0.1:8642/#/?pass=secret-token"))
    path = Path(address.path)
    assert "secret-token" not in address.geturl()
    assert "url=http://127.0.0.1:8642/#/?pass=secret-token" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
