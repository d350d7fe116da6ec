"""TLS, directly and through proxies: certificates and names are verified with SSL_CERT_FILE's authorities."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from oversight.harness.errors import ConfigError, FatalModelError, TransientModelError
from oversight.harness.llm import HttpClient
from oversight.harness.llm.models.http_client import HttpReply
from tests.fakes.forward_proxy import forward_proxy
from tests.fakes.raw_server import Listener, answer, raw_server
from tests.llm.http.conftest import Asking

VARIABLES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


def context_of(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


@pytest.fixture
def server(authority: trustme.CA) -> Iterator[Listener]:
    context = context_of(authority, "localhost", "127.0.0.1", "model.test")
    with raw_server(lambda _: [answer(b"over TLS")], tls=context) as found:
        yield found


async def twice(client: HttpClient) -> HttpReply:
    await client.request("POST", "/path", b"{}")
    return await client.request("POST", "/path", b"{}")


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_good_certificate_is_taken_and_the_connection_kept(
    host: str, server: Listener, asking: Asking
) -> None:
    assert asking(f"https://{host}:{server.port}/v1", twice).body == b"over TLS"
    assert server.connections == 1


def test_an_unknown_authority_is_refused_before_the_key_is_sent(server: Listener, asking: Asking) -> None:
    with pytest.raises(TransientModelError, match=r"no connection to localhost:\d+: unable to get local"):
        asking(f"https://localhost:{server.port}")
    assert not server.seen


@pytest.mark.usefixtures("trusted")
def test_a_certificate_of_another_name_is_refused(authority: trustme.CA, asking: Asking) -> None:
    with (
        raw_server(lambda _: [answer()], tls=context_of(authority, "other.test")) as server,
        pytest.raises(TransientModelError, match="certificate is not valid for 'localhost'"),
    ):
        asking(f"https://localhost:{server.port}")
    assert not server.seen


def test_plain_http_instead_of_tls_is_a_connection_error(asking: Asking) -> None:
    with raw_server(lambda _: [answer()]) as server, pytest.raises(TransientModelError):
        asking(f"https://localhost:{server.port}")


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("variable", ["https_proxy", "HTTPS_PROXY"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_tunnel_hides_all_but_the_host(
    variable: str,
    scheme: str,
    server: Listener,
    authority: trustme.CA,
    asking: Asking,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with forward_proxy(context_of(authority, "localhost") if scheme == "https" else None) as proxy:
        monkeypatch.setenv(variable, f"{scheme}://me:p%40ss@localhost:{proxy.port}")
        found = asking(f"https://model.test:{server.port}/v1", twice)  # only the proxy can resolve this name
    assert found.body == b"over TLS"
    assert [r.line for r in proxy.seen] == [f"CONNECT model.test:{server.port} HTTP/1.1"]
    assert proxy.seen[0].headers["proxy-authorization"] == "Basic bWU6cEBzcw=="
    assert "authorization" not in proxy.seen[0].headers
    assert "proxy-authorization" not in server.seen[0].headers
    assert [r.line for r in server.seen] == ["POST /v1/path HTTP/1.1"] * 2


@pytest.mark.usefixtures("trusted")
def test_the_server_behind_a_tunnel_is_verified(
    server: Listener, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    with forward_proxy() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://localhost:{proxy.port}")
        with pytest.raises(TransientModelError, match=r"certificate is not valid for 'wrong\.test'"):
            asking(f"https://wrong.test:{server.port}")
    assert not server.seen


def test_plain_requests_go_to_a_proxy_in_absolute_form(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raw_server(lambda _: [answer(b"plain")]) as server, forward_proxy() as proxy:
        monkeypatch.setenv("http_proxy", f"me:secret@localhost:{proxy.port}")  # many users omit the scheme
        url = f"http://model.test:{server.port}/v1"
        assert asking(url).body == b"plain"
        assert [r.line for r in proxy.seen] == [f"POST {url}/path HTTP/1.1"]
        assert proxy.seen[0].headers["proxy-authorization"] == "Basic bWU6c2VjcmV0"
        monkeypatch.setenv("no_proxy", "example.org,127.0.0.1")
        assert asking(f"http://127.0.0.1:{server.port}/v1").body == b"plain"
    assert len(proxy.seen) == 1


@pytest.mark.parametrize("refusal", ["407 Proxy Authentication Required", "502 Bad Gateway"])
def test_a_proxy_that_refuses_is_named_without_its_password(
    refusal: str, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raw_server(lambda _: [answer(b"no", status=refusal)]) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:hunter2@127.0.0.1:{proxy.port}")
        with pytest.raises(TransientModelError) as raised:
            asking("https://model.test/v1")
    assert str(raised.value) == (
        f"no connection to model.test:443 through the proxy 127.0.0.1:{proxy.port}: "
        f"the proxy answers HTTP {refusal[:3]}"
    )


@pytest.mark.parametrize("url", ["socks5://me:hunter2@127.0.0.1:1080", "http://me:hunter2@:99", "http://a b"])
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(
    url: str, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", url)
    with pytest.raises(ConfigError, match="the proxy in HTTPS_PROXY") as raised:
        asking("https://model.test/v1")
    assert "hunter2" not in str(raised.value)


@pytest.mark.usefixtures("trusted")
def test_run_uses_tls_and_reports_its_errors(
    server: Listener, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import oversight as ov
    from oversight.harness.types import Item
    from tests.fakes.openai_server import Reply

    data = answer(Reply("green").payload("m").encode())
    item = Item("i", "what?", ("red", "green"), (0, 1))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with raw_server(lambda _: [data], tls=context_of(authority, "localhost")) as endpoint:
        url = f"https://localhost:{endpoint.port}/v1"
        [found] = ov.run("m", [item], store=str(tmp_path / "s.db"), endpoint=url)
        assert found.option == 1
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(FatalModelError, match=r"cannot be reached: no connection to .* local issuer"):
            ov.run("m", [item], store=str(tmp_path / "t.db"), endpoint=url)
