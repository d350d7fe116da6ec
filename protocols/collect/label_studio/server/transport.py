"""Call a Label Studio server through its SDK; no other module uses the SDK.

Every failure becomes an error of this project, with the token removed. Reading is retried while a server
restarts. Writing is not retried, so callers first check what has arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from oversight.harness import ConfigError, LabelStudioError

if TYPE_CHECKING:
    import httpx

    from oversight.protocols.collect.label_studio.server.connection import Connection

PAGE = 1000


def _as_is(row: Any) -> Any:
    return row


class Transport:
    """A server, and methods to call it.

    Calls have the SDK's names, for example ``"projects.list"``. The SDK's types are not used, because they
    differ from the replies of the Community edition.

    Parameters
    ----------
    connection
        Address and token.
    patience
        Seconds for which reading is retried if the server does not answer.
    timeout
        Seconds to wait for one reply.

    Attributes
    ----------
    public_url
        The address to show to people.
    """

    def __init__(self, connection: Connection, *, patience: float = 20.0, timeout: float = 120.0) -> None:
        self.url, self.connection = connection.url, connection
        self.public_url = connection.public_url or connection.url
        self._patience, self._timeout = patience, timeout

    def close(self) -> None:
        """Close the connection."""
        if "_http" in self.__dict__:
            self._http.close()

    def read_pages(self, call: str, keep: Callable[[Any], Any] = _as_is, **arguments: Any) -> list[Any]:
        """Return all pages of a list: as many rows as the server states, without duplicates.

        If the list changes while it is read, it is read again.

        Parameters
        ----------
        call
            Name of the call in the SDK.
        keep
            Selects the data to keep of a row. The SDK's objects are large: a long list needs several times
            the memory of the selected data.
        """
        for _ in range(4):
            rows: dict[int, Any] = {}
            number, total, steady = 1, 0, True
            while number == 1 or (len(rows) < total and steady):
                try:
                    found = self.call_with_retries(call, page=number, page_size=PAGE, **arguments)
                except MissingError:
                    if number == 1:
                        raise
                    break  # the list has become shorter
                items, reply = list(found.items or ()), found.response
                # Two kinds of lists use different names.
                count = int(getattr(reply, "total", None) or getattr(reply, "count", 0) or 0)
                steady = bool(items) and (number == 1 or count == total)
                rows |= {int(row.id): keep(row) for row in items}
                number, total = number + 1, count
            if len(rows) == total:
                return list(rows.values())
        raise LabelStudioError(
            f"{self.url}: a list has {len(rows)} of {total} entries; run the command again"
        )

    def read_total(self, call: str, **arguments: Any) -> int:
        """Return the number of rows of a list."""
        reply = self.call_with_retries(call, page=1, page_size=1, **arguments).response
        return int(getattr(reply, "total", None) or getattr(reply, "count", 0) or 0)

    def call_with_retries(self, call: str, *, patient: bool = True, **arguments: Any) -> Any:
        """Call the server, and retry while it does not answer; the first delays are short."""
        import tenacity

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_AwayError),
            stop=tenacity.stop_before_delay(self._patience if patient else 0),
            wait=tenacity.wait_exponential(multiplier=0.2, max=2.0),
            reraise=True,
        )
        try:
            return retrying(self.call_once, call, **arguments)
        except _AwayError as error:
            raise LabelStudioError(str(error)) from None

    def call_once(self, call: str, **arguments: Any) -> Any:
        """Call the server once; if this fails, the server may still have acted."""
        import httpx
        from label_studio_sdk.core.api_error import ApiError

        try:
            return attrgetter(call)(self._sdk)(**arguments)
        except httpx.TimeoutException:
            raise _AwayError(f"{self.url} did not answer within {self._timeout:.0f} s") from None
        except httpx.HTTPError as error:
            raise _AwayError(f"{self.url} cannot be reached: {self._clean(str(error))}") from None
        except ApiError as error:
            raise self._error(error.status_code or 0, error.body) from None
        except ValueError as error:  # not JSON, or not of the expected form
            raise _AwayError(f"{self.url} sent an unreadable answer: {self._clean(str(error))}") from None

    def _error(self, status: int, body: object) -> Exception:
        detail = (
            body.get("detail") or body.get("validation_errors") or body if isinstance(body, dict) else body
        )
        said = self._clean(str(detail))
        if status == 401:
            return ConfigError(
                f"{self.url} refuses the token ({said}): run oversight doctor for the reason and the remedy"
            )
        if status == 403:
            return ConfigError(f"{self.url}: the account may not do this ({said}): use the owner's token")
        if status >= 500 or status in (0, 200, 201, 429):
            return _AwayError(f"{self.url} failed with status {status}: {said}")
        kind = MissingError if status == 404 else LabelStudioError
        return kind(f"{self.url} answered with status {status}: {said}")

    def _clean(self, text: str) -> str:
        return " ".join(text.replace(self.connection.token, "[token]").split())[:200]

    @cached_property
    def _http(self) -> httpx.Client:
        import httpx

        local = self.connection.is_local
        return httpx.Client(
            timeout=self._timeout,
            follow_redirects=True,
            trust_env=not local,
            # The built-in server sends head and body separately, and on a kept connection the second waits
            # for the delayed acknowledgement of the first, 40 ms per call. For other servers a new
            # connection costs more.
            limits=httpx.Limits(max_keepalive_connections=0 if local else None),
        )

    @cached_property
    def _sdk(self) -> Any:
        # imported here, because the import takes seconds
        from label_studio_sdk import LabelStudio

        make: Any = LabelStudio  # the SDK has no types
        return make(base_url=self.url, api_key=self.connection.token, max_retries=0, httpx_client=self._http)


class MissingError(LabelStudioError):
    """The requested object does not exist on the server."""


class _AwayError(LabelStudioError):
    """The server does not answer or is overloaded, so a retry may help."""
