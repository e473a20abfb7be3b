"""Scores of pairs of texts on disk, so that no call of an expensive metric is paid for twice.

The file is an SQLite database with one row for each score, known by a digest of the name of the metric and the texts.
Each batch is one transaction: after an interruption the file has every finished batch and no half of one, and several
processes may share it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from toledo.errors import InputError
from toledo.metrics.metric import Triple

DIGEST_BYTES = 16
KEYS_AT_ONCE = 500  # SQLite has a limit on the parameters of a query
SECONDS_TO_WAIT = 60.0  # for another process that writes


@dataclass(frozen=True)
class ScoreCache:
    """A file of the scores of one metric, and maybe of others."""

    file: Path
    metric: str

    def find(self, triples: Sequence[Triple]) -> dict[Triple, float]:
        """Return the scores that are known."""
        triple_of = {self._key(triple): triple for triple in triples}
        keys, found = list(triple_of), dict[Triple, float]()
        with self._opened() as database:
            for begin in range(0, len(keys), KEYS_AT_ONCE):
                some = keys[begin : begin + KEYS_AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = database.execute(f"SELECT key, score FROM scores WHERE key IN ({marks})", some)  # noqa: S608
                found.update((triple_of[key], score) for key, score in rows)
        return found

    def add(self, scores: Mapping[Triple, float]) -> None:
        """Keep scores; those that are no numbers are not kept."""
        rows: Iterable[tuple[bytes, float]] = (
            (self._key(triple), score) for triple, score in scores.items() if score == score
        )
        with self._opened() as database, database:
            database.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", rows)

    def _key(self, triple: Triple) -> bytes:
        text = json.dumps([self.metric, *triple])
        return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.file, timeout=SECONDS_TO_WAIT)) as database:
                with database:
                    database.execute(
                        "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score REAL NOT NULL) WITHOUT ROWID"
                    )
                yield database
        except sqlite3.Error as error:
            raise InputError(
                f"cannot keep scores in this file: {error}",
                file=self.file,
                remedy="give a new file, or delete this one",
            ) from None
