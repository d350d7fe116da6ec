"""Print to a terminal; every printed text passes through `make_printable`.

A command runs inside `guarded_terminal`, so that output of libraries (argparse, progress bars, warnings) is
also cleaned. `say` is for code that is also called from Python. On narrow terminals, tables wrap names and
keep numbers on one line.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

from oversight.harness.output.safe_text import make_encodable, make_printable, make_result


class _Printable(logging.Formatter):
    """Log formatter that masks secrets and escapes control characters, for example in endpoint replies."""

    def format(self, record: logging.LogRecord) -> str:
        return make_printable(super().format(record))


def log_to_stderr() -> None:
    """Write this project's logs to standard error; a second call has no effect."""
    logger = logging.getLogger("oversight")
    if not any(isinstance(handler.formatter, _Printable) for handler in logger.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(_Printable("%(asctime)s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)


if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

_NARROW, _WIDE = 80, 120
_ESTIMATES = {"accuracy", "interval", "found"}
"""Column titles that mark a table of estimates, whose layout is set here; rich lays out other tables."""
_UNITS = re.compile(r"\b(?:of|points?|q|s|min|h|tie)\b")
_LETTER = re.compile(r"[^\W\d_]")


def plain_table(*titles: str) -> Table:
    """Return a new table without a frame."""
    from rich.table import Table

    return Table(*titles, box=None, padding=(0, 1, 0, 2))


def keep_numbers(renderable: RenderableType, width: int) -> None:
    """Make columns of names narrower before columns of numbers, in every table of estimates.

    A column counts as numeric if its cells contain digits and no words except units, as in "3 of 40". Other
    columns are wrapped instead of cut, so that names that differ only at the end remain distinct. A table
    without a frame is unchanged.
    """
    from rich import box
    from rich.console import Group
    from rich.table import Table

    if isinstance(renderable, Group):
        for each in renderable.renderables:
            keep_numbers(each, width)
    elif isinstance(renderable, Table) and renderable.box and _ESTIMATES & _titles(renderable):
        if width >= _WIDE and _longest_word(renderable) <= width // 3:
            return
        for column in renderable.columns:
            column.overflow, column.no_wrap = "fold", False
            cells = [str(cell) for cell in column.cells]
            if _are_numbers(cells):
                column.no_wrap, column.min_width = True, max(map(len, cells))
                column.header = str(column.header).replace(" ", "\n")
        if width < _NARROW:  # remove frames and margins, which take 16 of 60 columns
            renderable.box, renderable.pad_edge, renderable.padding = box.SIMPLE_HEAD, False, (0, 1, 0, 0)


def _titles(table: Table) -> set[str]:
    return {str(column.header) for column in table.columns}


def _longest_word(table: Table) -> int:
    cells = (str(cell) for column in table.columns for cell in column.cells)
    return max((len(word) for cell in cells for word in cell.split()), default=0)


def _are_numbers(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return any(re.search(r"\d", cell) for cell in filled) and not any(
        _LETTER.search(_UNITS.sub("", cell)) or "\n" in cell for cell in filled
    )


_ASCII = {
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "~",
    "≥": ">=",
    "≤": "<=",
    "\u00d7": "x",
    "±": "+/-",
    "½": "1/2",
    "·": "*",
}
_ASCII |= {"α": "alpha", "κ": "kappa", "π": "pi", "→": "->", "‑": "-", "’": "'"}


class _GuardedStream:
    """A text stream that makes written text printable and forwards all other operations."""

    def __init__(self, stream: IO[str], clean: Callable[[str], str]) -> None:
        self.stream, self._clean = stream, clean

    def write(self, text: str) -> int:
        """Write printable text; carriage returns at both ends are kept, because progress bars use them.

        If the reading end of the stream is closed, the text is dropped and the program continues.
        """
        bar = text.strip("\r")
        start = "\r" if text.startswith("\r") else ""
        end = "\r" if bar and text.endswith("\r") else ""
        with self._outlives_reader():
            shown = start + self._clean(bar) + end
            self.stream.write(make_encodable(shown, getattr(self.stream, "encoding", None)))
        return len(text)

    def flush(self) -> None:
        """Write the buffered text."""
        with self._outlives_reader():
            self.stream.flush()

    @contextmanager
    def _outlives_reader(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EIO):  # EIO: the terminal was closed
                raise
            with suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.stream.fileno())
                os.close(nowhere)

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def guarded_terminal() -> Iterator[None]:
    """Make everything that is printed within the block printable."""
    before = sys.stdout, sys.stderr
    sys.stdout = _GuardedStream(_plain(sys.stdout), make_result)
    sys.stderr = _GuardedStream(_plain(sys.stderr), make_printable)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def say(text: str) -> None:
    """Print a message for a person on standard error, separate from the result and above a progress bar."""
    bars = sys.modules.get("tqdm")  # tqdm is imported only if a progress bar exists
    with bars.tqdm.external_write_mode(sys.stderr) if bars else nullcontext():
        sys.stderr.write(make_printable(text) + "\n")
        sys.stderr.flush()


def show(renderable: RenderableType) -> None:
    """Print on standard output with rich; unprintable characters are escaped, colours are kept."""
    from rich.console import Console
    from rich.segment import Segment

    encoding = getattr(_plain(sys.stdout), "encoding", None)

    class _Console(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            # Make texts printable before the table measures its cells.
            return super().render_str(_showable(text, encoding), **options)

        def render(self, *given: Any, **options: Any) -> Iterator[Segment]:
            for text, style, control in super().render(*given, **options):
                yield Segment(text if control else _showable(text, encoding), style, control)

    # Markup is off, so that square brackets in items, names and paths are printed unchanged.
    # `str` leaves texts unchanged, because the console already makes them printable.
    stream = cast("IO[str]", _GuardedStream(_plain(sys.stdout), str))
    console = _Console(markup=False, file=stream)
    if not console.is_terminal:
        console.width = 120
    keep_numbers(renderable, console.width)
    console.print(renderable)


def _showable(text: str, encoding: str | None) -> str:
    """Make a table's text printable; replace dashes and symbols that the encoding lacks by ASCII."""
    text = make_printable(text)
    if make_encodable(text, encoding) == text:
        return text
    plain = "".join(c if make_encodable(c, encoding) == c else _ASCII.get(c, c) for c in text)
    return make_encodable(plain, encoding)


def _plain(stream: Any) -> IO[str]:
    """Return the underlying stream of a guarded stream."""
    plain: IO[str] = stream.stream if isinstance(stream, _GuardedStream) else stream
    return plain


T = TypeVar("T")


def with_bar(rows: Sequence[T], what: str, unit: str) -> Iterable[T]:
    """Iterate over rows; on a terminal, show a progress bar after two seconds."""
    if not sys.stderr.isatty():
        return rows
    from tqdm import tqdm

    shown: Iterable[T] = tqdm(rows, desc=what, unit=unit, delay=2, leave=False, file=sys.stderr)
    return shown
