"""An append-only file of results, whole after a kill at any moment.

SQLite with a rollback journal: a transaction is in the file or it isn't. Not its write-ahead log, which needs
memory shared on one machine (so no network disk) and leaves results in a second file that a copy forgets.
Every result carries a checksum, for SQLite doesn't notice a flipped bit inside a number.

Sweeps into one store share its work by claims: who is at which seed, and until when that may be believed.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import socket
import sqlite3
import struct
import tempfile
import threading
import time
import uuid
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from ..settings import OBSERVABLES, SettingError
from .sweep_results import SIMULATION_VERSION, Results, SweepProblem

FORMAT = 1
APPLICATION = 0x52544853  # "RTHS": what the file says it is
HEADER = 100  # bytes that every SQLite file begins with
WAIT = 60.0  # seconds that a writer waits for another one
EXPIRY = 60.0  # seconds for which a claim is believed; a sweep that lives renews its claims four times in them

Place = tuple[SweepProblem, int]  # a problem and the number of one of its seeds
Triple = tuple[float, float, float]  # attention, recall, accuracy

# Made by whoever writes first, also in the stores of earlier versions.
CLAIMS = ("CREATE TABLE IF NOT EXISTS claim (problem INTEGER NOT NULL, number INTEGER NOT NULL, owner TEXT NOT NULL,"
          " until REAL NOT NULL, PRIMARY KEY (problem, number)) WITHOUT ROWID")
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


class Store(contextlib.AbstractContextManager["Store"]):
    """Results by problem and number of the seed.

    `path` is a file, made where it is absent (an error with `must_exist`), or None for memory. `name` is the option
    that an error names. Raises `SettingError` for a file that is broken, of another kind or of another format; such a
    file is left as it is.

    >>> from recall_theory import Setting
    >>> problem = SweepProblem(Setting(V=32, L=4, d=64, N=1024), seed=1)
    >>> with Store() as store:
    ...     store.add(problem, 0, (1.0, 0.5, 0.5))
    ...     store.flush()
    ...     store.known(problem)
    {0: (1.0, 0.5, 0.5)}
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, must_exist: bool = False, name: str = "store"):
        self.name, self.path = name, None if path is None else os.fspath(path)
        self._waiting: list[tuple[SweepProblem, int, Triple]] = []
        self._owner = f"{socket.gethostname()} {os.getpid()} {uuid.uuid4().hex}"
        if self.path is not None:
            if not self.path or "\0" in self.path:
                raise self._error("is not a file name")
            if os.path.isdir(self.path):
                raise self._error("is a directory, not a file")
            if must_exist and not os.path.exists(self.path):
                raise self._error("is not there")
            if not os.path.isdir(os.path.dirname(os.path.abspath(self.path))):
                raise self._error("can't be made: its directory doesn't exist")
            if os.path.exists(self.path) and 0 < os.path.getsize(self.path) < HEADER:  # SQLite would take it for empty
                raise self._broken("too short for a store")
        with self._database_errors():
            self._db = _connected(self.path)
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        """Make the tables of an empty file; check what another one is, and that it is whole."""
        tables = "SELECT 1 FROM sqlite_master"
        with self._database_errors():
            if not self._db.execute(tables).fetchone():
                with self._transaction():
                    if not self._db.execute(tables).fetchone():  # nobody was quicker
                        for statement in SCHEMA:
                            self._db.execute(statement)
            self._db.execute("PRAGMA synchronous = EXTRA")  # what is committed survives a power failure, too
            application, version, fault, pages, size = (
                self._db.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version", "quick_check(1)", "page_count", "page_size"))
        if application != APPLICATION:
            raise self._error("is an SQLite file, but no store of recall-theory")
        if version != FORMAT:
            raise self._error(f"is a store of format {version}, and this version reads format {FORMAT}")
        if self.path is not None and os.path.getsize(self.path) < pages * size:
            fault = "cut short"
        if fault != "ok":
            raise self._broken(fault)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._database_errors(), self._db:  # commits at the end, or rolls back
            self._db.execute("BEGIN IMMEDIATE")
            yield

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is waiting and close the file."""
        try:
            self.flush()
        finally:
            self._db.close()

    def add(self, problem: SweepProblem, number: int, triple: Triple) -> None:
        """Take one result; `flush` writes it. One that is there already is left as it is."""
        self._waiting.append((problem, number, triple))

    def flush(self) -> None:
        """Write all results that wait, whose claims end, in one transaction: after it no kill can lose them."""
        if not self._waiting:
            return
        with self._transaction():
            self._db.execute(CLAIMS)
            rows = [(self._number_of(p), n, *triple, checksum(p.key, n, triple)) for p, n, triple in self._waiting]
            self._db.executemany("INSERT OR IGNORE INTO result VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._db.executemany("DELETE FROM claim WHERE problem = ? AND number = ?", [row[:2] for row in rows])
        self._waiting.clear()

    def _number_of(self, problem: SweepProblem) -> int:
        """Within a transaction: the problem's number in the file, where it is entered if need be."""
        self._db.execute("INSERT OR IGNORE INTO problem (key, problem) VALUES (?, ?)", (problem.key, problem.to_json()))
        return int(self._db.execute("SELECT id FROM problem WHERE key = ?", (problem.key,)).fetchone()[0])

    def claim(self, places: Iterator[Place], most: int) -> list[Place]:
        """Draw places until `most` of them are claimed, or all are drawn; what waits is written before.

        Returns those that are claimed now: they have no result, and no other sweep is at them.
        """
        self.flush()
        taken: list[Place] = []
        now = time.time()
        with self._transaction():
            for (owner,) in self._db.execute("SELECT DISTINCT owner FROM claim").fetchall():
                expired = math.inf if _has_died(owner) else now
                self._db.execute("DELETE FROM claim WHERE owner = ? AND until < ?", (owner, expired))
            while len(taken) < most and (place := next(places, None)) is not None:
                at = self._number_of(place[0]), place[1]
                if self._db.execute("INSERT OR IGNORE INTO claim SELECT ?, ?, ?, ? WHERE NOT EXISTS"
                                    " (SELECT 1 FROM result WHERE problem = ? AND number = ?)",
                                    (*at, self._owner, now + EXPIRY, *at)).rowcount:
                    taken.append(place)
        return taken

    @contextlib.contextmanager
    def claiming(self) -> Iterator[None]:
        """The claims that are made in the block are renewed in it, and given up at its end.

        Raises `SettingError` before the work where results could not be added.
        """
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(EXPIRY / 4):
                with contextlib.suppress(sqlite3.Error), contextlib.closing(_connected(self.path)) as db:
                    db.execute("UPDATE claim SET until = ? WHERE owner = ?", (time.time() + EXPIRY, self._owner))

        with self._transaction():
            self._db.execute(CLAIMS)
        if self.path is not None:  # else nobody else can come
            threading.Thread(target=renew, daemon=True).start()
        try:
            yield
        finally:
            ended.set()
            self.flush()
            with self._transaction():
                self._db.execute("DELETE FROM claim WHERE owner = ?", (self._owner,))

    def known(self, problem: SweepProblem, below: int | None = None) -> dict[int, Triple]:
        """The results of a problem by number of the seed, those below a number where one is given."""
        with self._database_errors():
            rows = self._db.execute(
                "SELECT number, attention, recall, accuracy, checksum FROM result WHERE number < ?"
                " AND problem = (SELECT id FROM problem WHERE key = ?) ORDER BY number",
                (2**62 if below is None else below, problem.key)).fetchall()
        for number, *triple, check in rows:
            if check != checksum(problem.key, number, triple):
                raise self._broken(f"seed {number} of {problem.to_json()} doesn't match its checksum")
        return {number: (a, r, c) for number, a, r, c, _ in rows}

    def problems(self) -> list[SweepProblem]:
        """All problems with results, in the order of their first one."""
        with self._database_errors():
            rows = self._db.execute("SELECT key, problem FROM problem WHERE id IN (SELECT problem FROM result)"
                                    " ORDER BY id").fetchall()
        problems = []
        for key, text in rows:
            try:
                problems.append(SweepProblem.from_json(text))
            except (ValueError, TypeError):
                raise self._broken(f"no setting: {text[:80]!r}") from None
            if problems[-1].key != key:
                raise self._broken(f"the hash of {text[:80]!r} is another")
        return problems

    def current(self) -> list[SweepProblem]:
        """The problems of the present model; results of others are kept, never shown with these."""
        return [problem for problem in self.problems() if problem.model == SIMULATION_VERSION]

    def unused(self) -> str:
        """How many results are kept but not used and why, in one sentence; "" where all are used."""
        problems = [problem for problem in self.problems() if problem.model != SIMULATION_VERSION]
        if not problems:
            return ""
        versions = ", ".join(map(str, sorted({p.model for p in problems})))
        return (f"{sum(len(self.known(p)) for p in problems):,} results (cells: {len(problems):,}) are kept and not "
                f"used: they are by another version of the model ({versions}; this is {SIMULATION_VERSION})")

    def merge(self, others: Sequence[Store]) -> int:
        """Add what the others hold; the number of results that were new.

        Raises `SettingError`, and adds nothing, where two stores hold different values for the same seed of the
        same problem: one of them is wrong, or came from other numerical libraries.
        """
        self.flush()
        new: dict[Place, Triple] = {}
        for other in others:
            for problem in other.problems():
                ours = self.known(problem)
                for number, triple in other.known(problem).items():
                    held = ours.get(number) or new.setdefault((problem, number), triple)
                    if held != triple:
                        raise other._error(f"holds other values for seed {number} of {problem.to_json()}: "
                                           f"{triple}, not {held}; nothing was merged")
        self._waiting = [(*place, triple) for place, triple in new.items()]
        self.flush()
        return len(new)

    def _error(self, what: str) -> SettingError:
        return SettingError(self.name, f"{self.name}={self.path!r} {what}")

    def _broken(self, how: str) -> SettingError:
        return self._error(f"is broken ({' '.join(how.split())}); it is left as it is")

    @contextlib.contextmanager
    def _database_errors(self) -> Iterator[None]:
        """SQLite's errors as one line that names the file."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a broken name makes a message that isn't text
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 255
            damaged = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
            what = "is broken or no store at all" if damaged else "can't be used"
            raise self._error(f"{what} ({error}); it is left as it is") from None


def checksum(key: str, number: int, triple: Sequence[float]) -> int:
    """The checksum of one result, its place included."""
    return zlib.crc32(struct.pack("<q3d", number, *triple), int(key[:8], 16))


def gathered(store: Store, problems: Sequence[SweepProblem], plan: Sequence[int] | None = None,
             simulated: int = 0) -> Results:
    """What the store holds of the problems: as many seeds as planned of each, or all where `plan` is None."""
    known = [store.known(problem, None if plan is None else plan[c]) for c, problem in enumerate(problems)]
    planned = plan or [1 + max(numbers, default=-1) for numbers in known]
    values = np.full((len(problems), max(planned, default=0), len(OBSERVABLES)), np.nan)
    for of_cell, numbers in zip(values, known, strict=True):
        of_cell[list(numbers)] = list(numbers.values()) or np.empty((0, len(OBSERVABLES)))
    return Results(tuple(problems), values, tuple(planned), simulated)


def opened(store: str | os.PathLike[str] | Store | None) -> contextlib.AbstractContextManager[Store]:
    """The store itself, left open, or that of a file (None: of memory), closed at the end."""
    return contextlib.nullcontext(store) if isinstance(store, Store) else Store(store)


def _connected(path: str | None) -> sqlite3.Connection:
    """The database of a file, or of memory.

    What a kill left in the middle of a transaction has to be undone first. Where the file can't be written, that is
    done to a copy in memory, which can't be written either.
    """
    places = () if path is None else (path, os.path.dirname(os.path.abspath(path)))
    if all(os.access(place, os.W_OK) for place in places) or not os.path.exists(f"{path}-journal"):
        # Transactions are begun by hand, so that each is a whole batch.
        return sqlite3.connect(path or ":memory:", timeout=WAIT, isolation_level=None)
    db = sqlite3.connect(":memory:", isolation_level=None)
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("", "-journal"):
            shutil.copyfile(f"{path}{ending}", os.path.join(folder, f"store{ending}"))
        with contextlib.closing(sqlite3.connect(os.path.join(folder, "store"))) as copy:
            copy.backup(db)
    db.execute("PRAGMA query_only = ON")
    return db


def _has_died(owner: str) -> bool:
    """Whether a claim's owner ran on this machine and runs no more."""
    host, process, _ = owner.split(" ")
    if host != socket.gethostname() or os.name != "posix":
        return False
    try:
        os.kill(int(process), 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)  # any other is of another user's process
    return False
