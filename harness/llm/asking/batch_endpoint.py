"""The Batch API of one endpoint: submit, list and cancel batches, and read their files.

Replies are parsed as plain JSON, because servers other than OpenAI's omit fields or add states.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oversight.harness.config import ModelSection
from oversight.harness.errors import FatalModelError, Fault, ModelError, RefusedRequest, TransientModelError
from oversight.harness.llm.asking.batch_file import has_same_requests
from oversight.harness.llm.models.chat_completions import read_refusal
from oversight.harness.llm.models.completions import load_body

if TYPE_CHECKING:
    from oversight.harness.llm.models.sdk_model import SdkClient

_METADATA = "oversight"
_OUR_FILE = re.compile(r"oversight-[0-9a-f]{32}\.jsonl")
_WAITING = frozenset({"validating", "in_progress", "finalizing", "cancelling"})
_ENDED = frozenset({"completed", "expired", "cancelled", "failed"})


@dataclass(frozen=True, slots=True)
class RemoteBatch:
    """A batch as its endpoint describes it; `total` and `answered` are 0 if not reported."""

    id: str
    status: str
    files: tuple[str, ...] = ()
    output_file: str = ""
    input_file: str = ""
    total: int = 0
    answered: int = 0
    metadata: Mapping[str, Any] | None = None
    errors: tuple[str, ...] = ()

    @property
    def is_waiting(self) -> bool:
        """Whether the batch has not ended, so that answers may still arrive."""
        return self.status in _WAITING

    def find_lack(self, found: int, expected: int, unreadable: int) -> str:
        """Return the reason why some answers may not have been read; "" if all were read.

        Parameters
        ----------
        found, expected
            Number of requests that have a line in the result files, and number of all requests of the batch.
        unreadable
            Number of lines in the result files that contain no request's id.
        """
        if found >= expected:
            return ""
        if self.status not in _ENDED:
            return f"its state {self.status!r} is unknown"
        if self.status == "completed" and not self.output_file:
            return "it is completed, but has no output file"
        if unreadable:
            return f"{unreadable:,} lines of its result files cannot be read"
        if found < self.answered:
            return f"{self.answered:,} requests are answered, but its result files contain only {found:,}"
        return ""


def read_batch(payload: Any) -> RemoteBatch:
    """Parse an endpoint's description of a batch.

    Raises
    ------
    TransientModelError
        If the description has no id or no state.
    """
    match payload:
        case {"id": str(name), "status": str(status), **rest} if name:
            pass
        case _:
            raise TransientModelError("the reply describes no batch", fault=Fault.MALFORMED)
    files = [rest.get(field) for field in ("output_file_id", "error_file_id")]
    counts, metadata, errors = rest.get("request_counts"), rest.get("metadata"), rest.get("errors")
    counts = counts if isinstance(counts, dict) else {}
    total, answered = (n if isinstance(n := counts.get(k), int) else 0 for k in ("total", "completed"))
    listed = errors.get("data") if isinstance(errors, dict) else errors
    return RemoteBatch(
        id=name,
        status=status.casefold().replace("cancele", "cancelle").replace("canceli", "cancelli"),
        files=tuple(file for file in files if isinstance(file, str) and file),
        output_file=files[0] if isinstance(files[0], str) else "",
        input_file=str(rest.get("input_file_id") or ""),
        total=total,
        answered=answered,
        metadata=metadata if isinstance(metadata, dict) else None,
        errors=tuple(map(_describe_error, listed if isinstance(listed, list) else ())),
    )


@dataclass(frozen=True, slots=True)
class BatchPage:
    """One page of an endpoint's list of batches.

    `is_last` is None if the endpoint does not report it; `following` is the query for the next page.
    """

    batches: tuple[RemoteBatch, ...]
    is_last: bool | None
    following: Mapping[str, str]


def read_page(payload: Any) -> BatchPage:
    """Parse a page of a list of batches; endpoints paginate by id (OpenAI), by cursor (Groq) or not at all.

    Raises
    ------
    UncertainBatch
        If the reply is not a list of batches.
    TransientModelError
        If a listed batch has no id or no state.
    """
    page = {"data": payload, "has_more": False} if isinstance(payload, list) else payload
    match page:
        case {"data": list(listed), **rest}:
            batches = tuple(map(read_batch, listed))
        case _:
            raise UncertainBatch("the endpoint does not list its batches")
    match rest:
        case {"paging": {"next_cursor": str(cursor)}} if cursor:
            return BatchPage(batches, is_last=False, following={"cursor": cursor})
    more = rest.get("has_more", False if "paging" in rest else None)
    is_last = not more if isinstance(more, bool) else None
    return BatchPage(batches, is_last, {"after": batches[-1].id} if batches else {})


def _describe_error(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    line = f"line {error['line']}: " if error.get("line") is not None else ""
    return f"{line}{error.get('message') or error.get('code') or error}"


class UncertainBatch(FatalModelError):
    """It is unknown whether the endpoint has a batch, so a second submission may double the cost."""

    exit_code = 1


def copy_error(error: ModelError, message: str) -> ModelError:
    """Return an error of the same kind with another message."""
    if isinstance(error, UncertainBatch):
        return UncertainBatch(message)
    return (FatalModelError if isinstance(error, FatalModelError) else TransientModelError)(message)


@dataclass(frozen=True, slots=True)
class BatchEndpoint:
    """An endpoint's Batch API, called through the SDK."""

    client: SdkClient
    settings: ModelSection

    async def create(self, marker: str, data: bytes) -> str:
        """Submit a file of requests. Returns the id of the batch."""
        files, batches = self.client.files.with_raw_response, self.client.batches.with_raw_response
        uploaded = await self._call(files.create(file=(_file_name(marker), data), purpose="batch"))
        match load_body(uploaded):
            case {"id": str(file)} if file:
                pass
            case _:
                raise TransientModelError("the reply has no id of the uploaded file", fault=Fault.MALFORMED)
        created = await self._call(
            batches.create(
                input_file_id=file,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_METADATA: marker},
            )
        )
        return read_batch(load_body(created)).id

    async def retrieve(self, name: str) -> RemoteBatch:
        """Return the current state of a batch."""
        found = await self._call(self.client.batches.with_raw_response.retrieve(name))
        return read_batch(load_body(found))

    async def cancel(self, name: str) -> None:
        """Ask the endpoint to cancel a batch."""
        await self._call(self.client.batches.with_raw_response.cancel(name))

    async def read_file(self, name: str) -> bytes:
        """Return the content of a file."""
        return await self._call(self.client.files.with_raw_response.content(name))

    async def _call(self, call: Awaitable[Any]) -> bytes:
        """Return the body of a reply; raise an error if its status is not a success."""
        from oversight.harness.llm.models.sdk_model import read_reply  # the SDK may not be installed

        reply = await read_reply(call)
        if 200 <= reply.status < 300:
            return reply.body
        read_refusal(reply.status, reply.body, reply.headers, self.settings)
        raise FatalModelError("content filter")

    async def read_files(self, batch: RemoteBatch) -> tuple[list[bytes], dict[str, ModelError]]:
        """Return the contents of the batch's output file and error file.

        The second value contains, by file id, the exception for each file that could not be read.
        """
        files, errors = list[bytes](), dict[str, ModelError]()
        for name in batch.files:
            try:
                files.append(await self.read_file(name))
            except ModelError as error:
                errors[name] = error
        return files, errors

    async def find_batch(self, marker: str, data: bytes, n_requests: int, known: set[str]) -> str | None:
        """Return the id of the batch with a marker; None if the endpoint does not have the batch.

        If the endpoint returns no metadata, the batch is recognised by the name or content of its input file.

        Parameters
        ----------
        known
            Ids of the study's other batches at endpoints.

        Raises
        ------
        UncertainBatch
            If the endpoint does not list its batches, or if a listed batch is possibly the wanted one, but
            its input file cannot be compared.
        """
        doubtful = 0
        async for batch in self._list_all():
            if (batch.metadata or {}).get(_METADATA) == marker:
                return batch.id
            is_other = batch.metadata or batch.id in known or batch.total not in (0, n_requests)
            if not is_other and batch.status != "failed":
                same = await self._is_input(batch, marker, data)
                if same:
                    return batch.id
                doubtful += same is None
        if doubtful:
            raise UncertainBatch(
                f"{doubtful} of the endpoint's batches may be this batch, but their input files cannot be "
                "compared with its requests"
            )
        return None

    async def _list_all(self) -> AsyncIterator[RemoteBatch]:
        batches = self.client.batches.with_raw_response
        seen, query = set[str](), dict[str, object]()
        while True:
            try:
                listed = await self._call(batches.list(limit=100, extra_query=query))
            except FatalModelError as error:
                if any(f"HTTP {status}" in str(error) for status in (401, 403)):
                    raise
                raise UncertainBatch(f"the endpoint does not list its batches ({error})") from error
            page = read_page(load_body(listed))
            new = [batch for batch in page.batches if batch.id not in seen]
            for batch in new:
                yield batch
            if page.is_last or (page.is_last is None and not new):
                return
            if not new:
                raise UncertainBatch(f"the endpoint lists only {len(seen):,} of its batches")
            seen, query = seen | {batch.id for batch in new}, dict(page.following)

    async def _is_input(self, batch: RemoteBatch, marker: str, data: bytes) -> bool | None:
        """Whether a batch was submitted with this marker or from a file with the requests in `data`.

        None if the batch's input file cannot be compared.
        """
        try:
            files = self.client.files.with_raw_response
            described = await self._call(files.retrieve(batch.input_file or "none"))
            match load_body(described):
                case {"filename": str(name)} if _OUR_FILE.fullmatch(name):
                    return name == _file_name(marker)
        except ModelError:  # the content of the file may still be readable
            pass
        try:
            return has_same_requests(await self.read_file(batch.input_file or "none"), data)
        except RefusedRequest:
            return None


def _file_name(marker: str) -> str:
    return f"oversight-{marker}.jsonl"
