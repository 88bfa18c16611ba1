"""An append-only file of results, whole after a kill at any moment.

SQLite with a rollback journal: a transaction is in the file or it isn't. Not its write-ahead log, which needs
memory shared on one machine (so no network disk) and leaves results in a second file that a copy forgets.
Every result carries a checksum, for SQLite doesn't notice a flipped bit inside a number.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from ..settings import SettingError
from .problem import MODEL, Problem

FORMAT = 1
APPLICATION = 0x52544853  # "RTHS": what the file says it is
HEADER = 100  # bytes that every SQLite file begins with
WAIT = 60.0  # seconds that a writer waits for another one

Triple = tuple[float, float, float]

SCHEMA = (
    "CREATE TABLE problem (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, problem TEXT NOT NULL)",
    "CREATE TABLE result (problem INTEGER NOT NULL REFERENCES problem (id), number INTEGER NOT NULL,"
    " attention REAL NOT NULL, recall REAL NOT NULL, accuracy REAL NOT NULL, checksum INTEGER NOT NULL,"
    " PRIMARY KEY (problem, number)) WITHOUT ROWID",
    *(f"CREATE TRIGGER no_{verb}_of_{table} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, 'append only'); END"
      for verb in ("UPDATE", "DELETE") for table in ("problem", "result")),
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT}",
)


def checksum(key: str, number: int, triple: Triple) -> int:
    """The checksum of one result, its place included."""
    return zlib.crc32(struct.pack("<q3d", number, *triple), int(key[:8], 16))


class Store:
    """Results by problem and number of the seed. `path` is a file, made where it is absent, or None for memory.

    `name` is the option that a complaint names. Raises `SettingError` for a file that is broken, of another
    kind or of another version; such a file is left as it is.

    >>> from recall_theory import Setting
    >>> problem = Problem(Setting(V=32, L=4, d=64, N=1024), seed=1)
    >>> with Store() as store:
    ...     store.add(problem, 0, (1.0, 0.5, 0.5))
    ...     store.flush()
    ...     store.known(problem)
    {0: (1.0, 0.5, 0.5)}
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, must_exist: bool = False,
                 name: str = "store"):
        self.name, self.path = name, None if path is None else os.fspath(path)
        self._waiting: list[tuple[Problem, int, Triple]] = []
        self._ids: dict[str, int] = {}
        if self.path is not None:
            self._check_file(self.path, must_exist)
        with self._told():
            # Transactions are begun by hand, so that each is a whole batch.
            self._db = sqlite3.connect(self.path or ":memory:", timeout=WAIT, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _check_file(self, path: str, must_exist: bool) -> None:
        if not path or "\0" in path or path == ":memory:":
            raise self._error("is not a file name")
        if os.path.isdir(path):
            raise self._error("is a directory, not a file")
        if os.path.exists(path):
            if not os.access(path, os.R_OK):
                raise self._error("can't be read: permission denied")
            if 0 < os.path.getsize(path) < HEADER:  # SQLite would take the shortest of them for empty
                raise self._error("is broken or no store at all (too short); it is left as it is")
        elif must_exist:
            raise self._error("is not there")
        elif not Path(path).absolute().parent.is_dir():
            raise self._error("can't be made: its directory doesn't exist")

    def _prepare(self) -> None:
        with self._told():
            application, = self._db.execute("PRAGMA application_id").fetchone()
            version, = self._db.execute("PRAGMA user_version").fetchone()
            empty = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        if not empty and application != APPLICATION:
            raise self._error("is an SQLite file, but no store of recall-theory")
        if not empty and version != FORMAT:
            raise self._error(f"is a store of format {version}, and this version reads format {FORMAT}")
        with self._told():
            self._db.execute("PRAGMA synchronous = NORMAL")
            if empty:
                self._make()
            fault, = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if fault != "ok":
            raise self._error(f"is broken ({' '.join(fault.split())}); it is left as it is")

    def _make(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if self._db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):  # nobody was quicker
                for statement in SCHEMA:
                    self._db.execute(statement)
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk has ended it already
                self._db.execute("ROLLBACK")
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Write what is waiting and close the file."""
        try:
            self.flush()
        finally:
            self._db.close()

    def add(self, problem: Problem, number: int, triple: Triple) -> None:
        """Take one result; `flush` writes it. One that is there already is left as it is."""
        self._waiting.append((problem, number, triple))

    def flush(self) -> None:
        """Write all results that wait, in one transaction: after it no kill can lose them."""
        if not self._waiting:
            return
        with self._told():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                new = {p.key: p for p, _, _ in self._waiting if p.key not in self._ids}
                self._db.executemany("INSERT OR IGNORE INTO problem (key, problem) VALUES (?, ?)",
                                     ((key, problem.to_json()) for key, problem in new.items()))
                self._learn_ids()
                self._db.executemany(
                    "INSERT OR IGNORE INTO result VALUES (?, ?, ?, ?, ?, ?)",
                    ((self._ids[p.key], n, *triple, checksum(p.key, n, triple)) for p, n, triple in self._waiting))
                self._db.execute("COMMIT")
            except BaseException:
                self._ids.clear()  # some may have been of this transaction
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        self._waiting.clear()

    def _learn_ids(self) -> None:
        """The numbers of problems that others, or this transaction, added."""
        last = max(self._ids.values(), default=0)
        self._ids.update(self._db.execute("SELECT key, id FROM problem WHERE id > ?", (last,)))

    def check_writable(self) -> None:
        """Raise `SettingError` where results could not be added: told before the work, not after it."""
        with self._told():
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("ROLLBACK")

    def known(self, problem: Problem, below: int | None = None) -> dict[int, Triple]:
        """The results of a problem by number of the seed, those below a number where one is given."""
        return next(self.results([problem], below))

    def results(self, problems: Sequence[Problem], below: int | None = None) -> Iterator[dict[int, Triple]]:
        """What is known of each of the problems, in turn."""
        with self._told():
            self._learn_ids()
        for problem in problems:
            rows = []
            if problem.key in self._ids:
                with self._told():
                    rows = self._db.execute(
                        "SELECT number, attention, recall, accuracy, checksum FROM result WHERE problem = ?"
                        " AND number < ? ORDER BY number",
                        (self._ids[problem.key], 2**62 if below is None else below)).fetchall()
            found: dict[int, Triple] = {}
            for number, a, r, c, check in rows:
                if check != checksum(problem.key, number, (a, r, c)):
                    raise self._error(f"is broken (seed {number} of {problem.to_json()} doesn't match its checksum); "
                                      "it is left as it is")
                found[number] = (a, r, c)
            yield found

    def problems(self) -> list[Problem]:
        """All problems with results, in the order of their first one, whatever the model's version."""
        with self._told():
            rows = self._db.execute("SELECT key, problem FROM problem WHERE id IN (SELECT problem FROM result)"
                                    " ORDER BY id").fetchall()
        return [self._problem(key, text) for key, text in rows]

    def current(self) -> list[Problem]:
        """The problems of the present model; results of others are kept, never shown with these."""
        return [problem for problem in self.problems() if problem.model == MODEL]

    def of_other_models(self) -> int:
        """How many problems are those of another version of the model."""
        with self._told():
            count: int = self._db.execute("SELECT count(*) FROM problem WHERE problem NOT LIKE ?",
                                          (f"[{MODEL},%",)).fetchone()[0]
        return count

    def _problem(self, key: str, text: str) -> Problem:
        try:
            problem = Problem.from_json(text)
        except (ValueError, TypeError):
            raise self._error(f"is broken (no setting: {text[:80]!r}); it is left as it is") from None
        if problem.key != key:
            raise self._error(f"is broken (the hash of {text[:80]!r} is another); it is left as it is")
        return problem

    def merge(self, others: Sequence[Store]) -> int:
        """Add what the others hold; the number of results that were new.

        Raises `SettingError`, and adds nothing, where two stores hold different values for the same seed of the
        same problem: one of them is wrong, or came from other numerical libraries.
        """
        if self._waiting:
            self.flush()
        new: dict[tuple[str, int], Triple] = {}
        for other in others:
            problems = other.problems()
            for problem, theirs in zip(problems, other.results(problems), strict=True):
                ours = self.known(problem)
                for number, triple in theirs.items():
                    held = ours.get(number, new.get((problem.key, number)))
                    if held is None:
                        new[problem.key, number] = triple
                        self.add(problem, number, triple)
                    elif held != triple:
                        self._waiting.clear()
                        raise other._error(f"holds other values for seed {number} of {problem.to_json()}: "
                                           f"{triple}, not {held}; nothing was merged")
        self.flush()
        return len(new)

    def _error(self, what: str) -> SettingError:
        return SettingError(self.name, f"{self.name}={self.path!r} {what}")

    def _told(self) -> _Told:
        return _Told(self)


class _Told:
    """SQLite's complaints as one line that names the file."""

    def __init__(self, store: Store):
        self.store = store

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if isinstance(error, sqlite3.DatabaseError):
            code = getattr(error, "sqlite_errorcode", 0) & 255
            damage = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
            what = "is broken or no store at all" if damage else "can't be used"
            raise self.store._error(f"{what} ({error}); it is left as it is") from None
