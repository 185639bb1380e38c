"""Flows: what a client does, as generators that yield each request and each pause. `Client` and `AsyncClient` carry the
same flows out, so both behave alike."""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

#: Largest answer that is read: a result of 1 MiB in escapes, and its steps.
MAX_ANSWER_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class Send:
    """One HTTP request. Its answer is whole before `deadline` (monotonic seconds), or it is broken."""

    method: str
    url: str
    deadline: float
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True)
class Pause:
    """Waits for some seconds."""

    seconds: float


@dataclass(frozen=True)
class Reply:
    """A whole answer. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Broken:
    """No whole answer. `sent`: the request may have arrived."""

    sent: bool
    reason: str


Effect = Send | Pause
#: A `Send` is answered with a `Reply` or `Broken`, a `Pause` with nothing.
Flow = Generator[Effect, Any, T]


def backoff(failures: int) -> float:
    """The pause after so many failures in a row: doubled from half a second to 8 seconds. Half of it is random, so that
    clients of a service that failed do not all come back at the same time."""
    most: float = min(0.5 * 2**failures, 8.0)
    return most * (0.5 + 0.5 * random.random())
