"""The proxy that the environment names: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in capitals or not."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

from oversight.harness.llm.http.address import Address


def find_proxy(server: Address) -> Address | None:
    """Return the proxy through which a server is reached; None reaches it directly.

    Raises
    ------
    ConfigError
        If what is set is no ``http://`` or ``https://`` URL; SOCKS is not spoken.
    """
    url = getproxies().get(server.scheme)
    if not url or proxy_bypass(server.authority) or proxy_bypass(server.host):
        return None
    return Address.parse(
        url if "://" in url else f"http://{url}",
        f"the proxy in {server.scheme.upper()}_PROXY",
    )


def proxy_authorization(proxy: Address) -> dict[str, str]:
    """Return the header that tells a proxy who asks; none without a user."""
    if proxy.user is None:
        return {}
    pair = f"{unquote(proxy.user)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
