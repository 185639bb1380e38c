"""Replay guards: each call runs once, however often it is sent, and everybody gets the same answer.

A guard of your own, over Redis or SQL, has the two methods of `Guard`. `begin` and `finish` must be atomic: in Redis
`SET … NX`, in SQL `INSERT … ON CONFLICT DO NOTHING`, as `SqliteGuard` shows.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Run:
    """The call is new, and whoever asked runs it."""


@dataclass(frozen=True)
class Wait:
    """Somebody runs it, until this time (seconds since 1970) at the latest. After that the run is lost."""

    until: float


@dataclass(frozen=True)
class Done:
    """It has an answer."""

    answer: bytes


class Guard(Protocol):
    """Remembers calls by execution id and request hash. Execution ids are public once a call is opened, so a stranger
    can send one with another task: that is another call."""

    async def begin(self, execution_id: str, request_hash: str, until: float) -> Run | Wait | Done:
        """Says what to do with a call. A new call is noted as running until then."""

    async def finish(self, execution_id: str, request_hash: str, answer: bytes) -> bytes:
        """Notes the answer, and returns the one that counts: the first that was noted."""


class GuardFull(Exception):
    """No further call can run now."""


class MemoryGuard:
    """For one process. Beyond `max_answers` or `max_bytes` the oldest answers are forgotten, running calls never."""

    def __init__(self, max_answers: int = 10_000, max_bytes: int = 64 * 1024 * 1024, max_running: int = 1_000) -> None:
        self._max_answers, self._max_bytes, self._max_running = max_answers, max_bytes, max_running
        self._running: dict[tuple[str, str], float] = {}
        self._answers: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._bytes = 0

    async def begin(self, execution_id: str, request_hash: str, until: float) -> Run | Wait | Done:
        call = execution_id, request_hash
        if call in self._answers:
            return Done(self._answers[call])
        if call in self._running:
            return Wait(self._running[call])
        if len(self._running) >= self._max_running:
            raise GuardFull
        self._running[call] = until
        return Run()

    async def finish(self, execution_id: str, request_hash: str, answer: bytes) -> bytes:
        call = execution_id, request_hash
        self._running.pop(call, None)
        if call in self._answers:
            return self._answers[call]
        self._answers[call] = answer
        self._bytes += len(answer)
        while len(self._answers) > self._max_answers or self._bytes > self._max_bytes:
            _, oldest = self._answers.popitem(last=False)
            self._bytes -= len(oldest)
        return answer


class SqliteGuard:
    """For several processes of one machine, and across their restarts. Answers are kept for `keep_seconds`."""

    def __init__(self, path: str | Path, keep_seconds: float = 24 * 3600) -> None:
        self._path, self._keep = str(path), keep_seconds
        with self._connection() as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(
                "CREATE TABLE IF NOT EXISTS calls "
                "(execution_id TEXT, request_hash TEXT, until REAL NOT NULL, answer BLOB, "
                "PRIMARY KEY (execution_id, request_hash))"
            )
        db.close()

    def _connection(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=10)

    async def begin(self, execution_id: str, request_hash: str, until: float) -> Run | Wait | Done:
        return await asyncio.to_thread(self._begin, execution_id, request_hash, until)

    async def finish(self, execution_id: str, request_hash: str, answer: bytes) -> bytes:
        return await asyncio.to_thread(self._finish, execution_id, request_hash, answer)

    def _begin(self, execution_id: str, request_hash: str, until: float) -> Run | Wait | Done:
        db = self._connection()
        try:
            with db:
                db.execute("DELETE FROM calls WHERE until < ?", (time.time() - self._keep,))
                values = (execution_id, request_hash, until)
                new = db.execute("INSERT INTO calls VALUES (?, ?, ?, NULL) ON CONFLICT DO NOTHING", values).rowcount
                if new:
                    return Run()
                one = "SELECT until, answer FROM calls WHERE execution_id = ? AND request_hash = ?"
                noted, answer = db.execute(one, (execution_id, request_hash)).fetchone()
                return Wait(noted) if answer is None else Done(answer)
        finally:
            db.close()

    def _finish(self, execution_id: str, request_hash: str, answer: bytes) -> bytes:
        db = self._connection()
        call = (execution_id, request_hash)
        try:
            with db:
                values = (*call, time.time(), answer)
                db.execute(
                    "INSERT INTO calls VALUES (?, ?, ?, ?) "
                    "ON CONFLICT DO UPDATE SET answer = coalesce(answer, excluded.answer)",
                    values,
                )
                one = "SELECT answer FROM calls WHERE execution_id = ? AND request_hash = ?"
                counts: bytes = db.execute(one, call).fetchone()[0]
                return counts
        finally:
            db.close()
