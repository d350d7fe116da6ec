"""Detect that the file of an open SQLite database was removed, replaced or overwritten; save its rows."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

from oversight.harness.errors import LostDatabase

_PAUSE = 1.0
"""Seconds from a commit to the next checkpoint, and between two checkpoints."""


class LogFolding:
    """A thread that runs checkpoints, at most one per second, and ends as soon as the log is empty.

    A checkpoint copies ("folds") committed changes from the write-ahead log into the database file.

    Parameters
    ----------
    fold
        Function that runs one checkpoint, and returns whether it copied the whole log.
    """

    def __init__(self, fold: Callable[[], bool]) -> None:
        self._fold = fold
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._is_due = False

    def start(self) -> None:
        """Start the thread if it does not run; a checkpoint follows within about a second."""
        with self._lock:
            self._is_due = True
            if self._thread is None and not self._ended.is_set():
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def end(self) -> None:
        """Stop the thread, waiting for a running checkpoint."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while not self._ended.wait(_PAUSE):
            self._is_due = False
            is_done = self._fold()
            with self._lock:
                if is_done and not self._is_due:
                    self._thread = None
                    return


_Identity = tuple[int, int] | None
_SALT, _FOLDED, _TRIED = slice(32, 40), slice(96, 100), slice(128, 132)
"""Byte ranges in the header of SQLite's log index (``-shm`` file): salt, number of frames copied to the file,
and number of frames that the current checkpoint attempts to copy."""
_INDEX_SIZE = 136
_PATIENCE = 10.0
_INDICES: dict[tuple[int, int], int] = {}
"""Open file descriptors of log indices. They stay open, because closing one would release SQLite's locks."""


class HeldFile:
    """The file of an open SQLite database, which is checked at each commit with a few system calls.

    The paths of the file and of its write-ahead log must lead to the files that were opened. Only SQLite's
    checkpoints change the file, and the log's index changes with each checkpoint. So if the file changed but
    the index did not, another program wrote into the file.

    Parameters
    ----------
    file
        Path of the database.
    shown
        Address of the database, for messages.
    """

    def __init__(self, file: str, shown: str) -> None:
        self._name, self._shown = file, shown
        self._lock = threading.Lock()
        self._opened: _Identity = None
        self._log: _Identity = None
        self._shared: _Identity = None
        self._is_spoiled = False
        self._index: int | None = None
        self._known: tuple[tuple[int, int], bytes] | None = None
        self._target, self._kept, self._kept_log = file, "", ""
        self._keeper: sqlite3.Connection | None = None
        self.may_rescue, self.has_written = True, False

    def close(self) -> None:
        """Close the file. A later call of `remember` opens the file that the path then leads to."""
        with self._lock:
            self._opened = self._index = None
            if self._keeper is not None:
                self._keeper.close()
            self._keeper = None

    def fold(self) -> bool:
        """Run a checkpoint.

        Returns False if a part of the log still has to be copied into the database file.
        """
        if self.is_overwritten():
            return True
        with self._lock, suppress(sqlite3.Error):
            if self._keeper is not None:
                _, frames, folded = self._keeper.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                return bool(frames == folded)
        return True

    def fold_whole(self) -> None:
        """Copy the whole log into the database file and sync the file, so that the file alone has all rows.

        Raises
        ------
        sqlite3.Error
            If the file cannot be written, for example because the disk is full.
        """
        with self._lock:
            if self._keeper is not None:
                self._keeper.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def remember(self, *, writes: bool) -> None:
        """Record which file is at the path.

        If `writes`, also record the file's write-ahead log and the log's index.
        """
        if not writes:
            self._opened = _identify(self._name)
            return
        target = self._name
        for _ in range(40):
            if not os.path.islink(target):  # noqa: PTH114  a path that stays relative
                break
            target = os.path.join(os.path.dirname(target), os.readlink(target))  # noqa: PTH115, PTH118, PTH120
        # A separate connection is needed, because SQLite cannot back up from a connection in a transaction.
        keeper = sqlite3.connect(self._name, check_same_thread=False)
        with suppress(sqlite3.Error):  # fails if another program locks the file
            keeper.execute("SELECT 1 FROM sqlite_schema").fetchone()
        with self._lock:
            self._keeper = keeper
            self._is_spoiled = False
            self._target, self._opened, self._kept = target, _identify(self._name), ""
            self._log, self._shared = _identify(target + "-wal"), _identify(target + "-shm")
            self._index = _open_index(target + "-shm")
            self._known = None
        self.is_overwritten()

    def is_overwritten(self) -> bool:
        """Whether a program other than SQLite wrote into the file, for example by copying a file onto it."""
        if self._index is None or self._opened is None:
            return False
        before = self._read_index()
        try:
            found = os.stat(self._name)  # noqa: PTH116  at every commit
        except OSError:
            return False
        if before is None or before != self._read_index() or (found.st_dev, found.st_ino) != self._opened:
            return False  # a checkpoint is running, or the file was replaced
        state = found.st_mtime_ns, found.st_size
        with self._lock:
            if self._known is not None and self._known[1] == before and self._known[0] != state:
                return True
            self._known = state, before
        return False

    def refuse_overwritten(self) -> None:
        """Raise `LostDatabase` if another program wrote into the file.

        The write-ahead log belongs to the overwritten rows. The function copies and then removes the log, so
        that SQLite does not apply it to the new rows.
        """
        if not self._is_spoiled and not self.is_overwritten():
            return
        self._is_spoiled = True
        log = self._target + "-wal"
        if self._log is not None and _identify(log) == self._log:
            with suppress(OSError):
                if os.path.getsize(log):  # noqa: PTH202
                    kept = _make_free(self._target, "log")
                    shutil.copyfile(log, kept)
                    self._kept_log = f"; the log of the overwritten file is kept in {kept}"
                os.truncate(log, 0)  # other programs may keep the removed log open, so empty it first
                for ending in ("-wal", "-shm"):
                    os.unlink(self._target + ending)  # noqa: PTH108
        raise LostDatabase(
            f"{self._shown}: another program wrote into the database while it was open; this command's "
            "changes were not stored, and the rows that the file held before were overwritten; stop all "
            "commands, check the file with oversight store verify or restore a backup, then run this command "
            "again"
            f"{self._kept_log}"
        )

    def check(self) -> None:
        """If the path leads to other files than before, try to save all rows, and raise `LostDatabase`."""
        loss = self._describe_loss()
        if not loss:
            return
        with self._lock:
            told = self._rescue() if self.may_rescue and self.has_written else ""
        raise LostDatabase(f"{self._shown}: {loss}{told}")

    def _describe_loss(self) -> str:
        """Return what happened to the opened files; empty if the path still leads to these files."""
        found = _identify(self._name)
        if found is None:
            return "the file was removed"
        if self._opened is None:
            return ""
        if found != self._opened:
            return "the file was replaced by another file"
        for ending, beside in (("-wal", self._log), ("-shm", self._shared)):
            if beside is not None and _identify(self._target + ending) != beside:
                return f"the file's log ({Path(self._target).name}{ending}) was removed or replaced"
        return ""

    def _rescue(self) -> str:
        """Save to a new file, next to the old path, all rows that can still be read. Returns a message."""
        moved = _find_moved(self._opened)
        is_moved = moved and _identify(self._name) != self._opened
        moved = f"; the opened file is now at {moved}" if is_moved else ""
        try:
            rescued = self._kept or _make_free(self._target)
        except OSError as error:
            return f"; the rows could not be saved beside it ({error.strerror}){moved}"
        failure = self._save(rescued)
        self._kept = "" if failure else rescued
        if failure:
            for ending in ("", "-journal"):
                with suppress(OSError):
                    os.unlink(rescued + ending)  # noqa: PTH108
            return f"; the rows could not be saved beside it ({failure}){moved}"
        self._remove_log()
        told = f"; all rows that were stored are saved in {rescued}{moved}"
        return f"{told}; move that file to {self._name} and run the command again"

    def _save(self, rescued: str) -> str:
        """Copy all rows into a file. Returns the reason if this failed; otherwise an empty text."""
        if self._keeper is None:
            return "" if self._kept else "the database is closed"
        end = time.monotonic() + _PATIENCE

        def give_up(status: int, _left: int, _pages: int) -> None:
            if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > end:
                raise TimeoutError("another program has locked it")

        try:
            with suppress(sqlite3.OperationalError):  # copies changes from the log into the database file
                self._keeper.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            with closing(sqlite3.connect(rescued)) as copy:
                self._keeper.backup(copy, progress=give_up)
        except (sqlite3.Error, OSError) as error:
            return str(error)
        return ""

    def _remove_log(self) -> None:
        """Remove the log of the lost file, because SQLite would apply it to a new file at this path."""
        if _identify(self._target) == self._opened or _identify(self._target + "-wal") != self._log:
            return
        for ending in ("-wal", "-shm"):
            with suppress(OSError):
                os.unlink(self._target + ending)  # noqa: PTH108

    def _read_index(self) -> bytes | None:
        """Return bytes that change with each checkpoint; None during a checkpoint or without an index."""
        read = b"" if self._index is None else os.pread(self._index, _INDEX_SIZE, 0)
        settled = len(read) == _INDEX_SIZE and read[_FOLDED] == read[_TRIED]
        return read[_SALT] + read[_FOLDED] if settled else None


def _identify(file: str) -> _Identity:
    try:
        found = os.stat(file)  # noqa: PTH116  at every commit
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _open_index(file: str) -> int | None:
    """Return the file descriptor of a log's index, which is opened once per process.

    Also close the indices of removed logs. Return None if the index does not exist or cannot be read.
    """
    if not hasattr(os, "pread"):
        return None
    for key, descriptor in list(_INDICES.items()):
        if os.fstat(descriptor).st_nlink == 0 and _INDICES.pop(key, None) is not None:
            os.close(descriptor)
    found = _identify(file)
    if found is None:
        return None
    if found not in _INDICES:
        _INDICES[found] = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    return _INDICES[found]


def _make_free(target: str, what: str = "rescued") -> str:
    """Create an empty file next to a database, readable only by its owner, under the first free name."""
    path = Path(target).absolute()
    for number in count(1):
        more = "" if number == 1 else f"-{number}"
        free = path.with_name(f"{path.name.removesuffix('.db')}-{what}{more}.db")
        try:
            os.close(os.open(free, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        return str(free)
    raise AssertionError


def _find_moved(opened: _Identity) -> str:
    """Return the current path of an open file (Linux only); empty if it was deleted or is unknown."""
    with suppress(OSError):
        for link in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                place = os.readlink(link)  # noqa: PTH115
                if _identify(str(link)) == opened and _identify(place) == opened:
                    return place
    return ""
