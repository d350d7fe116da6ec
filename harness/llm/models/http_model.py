"""The hot call: chat completions over plain HTTP, for runs of thousands of requests.

The openai SDK is kept for everything that is called a few times a run (model lists, files, batches,
Azure; see `harness.llm.models.openai_model`), but not here: per request it looks through its whole pool,
transforms parameters and builds validated objects that nobody reads, which costs about ten times the
request itself. This sends the same bytes through one pooled `aiohttp` session, reads the few fields
that matter with `orjson`, and imports in a fifth of the SDK's time.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.request import getproxies, proxy_bypass

import aiohttp
import orjson
from yarl import URL

from harness.config import ModelSection, api_key
from harness.errors import FatalModelError, Fault, TransientModelError
from harness.llm.models.chat_completions import (
    base_url,
    parse_completion,
    read_limits,
    read_refusal,
    request_body,
)
from harness.llm.models.interface import ModelReply, Request

_LOOK_SECONDS = 10.0


class HttpModel:
    """One model of one OpenAI-compatible endpoint.

    Parameters
    ----------
    settings
        From study.toml; the key is read from the environment here and kept nowhere else.

    Raises
    ------
    ConfigError
        If the key is not set, or the local server is wanted and not running.
    """

    def __init__(self, settings: ModelSection) -> None:
        self._settings = settings
        self._base = base_url(settings).rstrip("/")
        self._url = URL(self._base + "/chat/completions")
        self._headers = {
            "Authorization": f"Bearer {api_key(settings)}",
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        self._session: aiohttp.ClientSession | None = None

    async def ask(self, request: Request) -> ModelReply:
        """Send a request and return what came back; see `harness.llm.models.interface.Model`."""
        body = orjson.dumps(request_body(request, self._settings))
        session = self._session or self._open()
        try:
            async with session.post(self._url, data=body, allow_redirects=False) as response:
                data = await response.read()
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise self._no_answer(error) from error
        if response.status == 200:
            reply = parse_completion(data)
            limits = read_limits(response.headers)
            return reply if limits is None else replace(reply, limits=limits)
        return read_refusal(response.status, data, response.headers, self._settings)

    async def check(self) -> None:
        """Make sure, before anything is paid for, that the endpoint is there and takes the key.

        Asks for the list of models, which costs nothing; endpoints without one pass.

        Raises
        ------
        FatalModelError
            If nothing answers at the address, or the key is refused.
        """
        session = self._session or self._open()
        url = self._base + "/models"
        timeout = aiohttp.ClientTimeout(total=min(_LOOK_SECONDS, self._settings.timeout))
        try:
            async with session.get(url, timeout=timeout, allow_redirects=False) as response:
                data = await response.read()
        except TimeoutError:  # slow to list is not unreachable
            return
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            raise FatalModelError(f"{self._settings.endpoint} cannot be reached: {error}") from error
        except (aiohttp.ClientError, OSError):
            return
        if response.status in (401, 403):
            read_refusal(response.status, data, response.headers, self._settings)
            raise FatalModelError(f"HTTP {response.status}: content filter")

    async def close(self) -> None:
        """Close the connection pool."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        # Made at the first call, inside the event loop that is to use it. The pool has no limit of its
        # own: the workers are the limit, and each keeps one connection alive.
        url = self._url
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=self._settings.timeout),
            # Looked up once: aiohttp's trust_env would do it for every call.
            proxy=None if proxy_bypass(url.host or "") else getproxies().get(url.scheme),
        )
        return self._session

    def _no_answer(self, error: Exception) -> TransientModelError:
        if isinstance(error, TimeoutError):
            message = f"no answer within {self._settings.timeout:g} s"
            return TransientModelError(message, fault=Fault.TIMEOUT)
        if isinstance(error, aiohttp.ClientPayloadError):
            return TransientModelError(f"the body was cut short: {error}", fault=Fault.MALFORMED)
        sent = not isinstance(error, aiohttp.ClientConnectorError)
        return TransientModelError(f"{type(error).__name__}: {error}", fault=Fault.CONNECTION, sent=sent)
