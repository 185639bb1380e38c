"""What a buyer gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class Started:
    """A call that was accepted: its escrow is confirmed."""

    execution_id: UUID
    idempotency_key: str


@dataclass(frozen=True)
class Result:
    """A result that is paid for."""

    execution_id: UUID
    result: str
    result_hash: str
    cost_usdc: Decimal
    execution_time_ms: int | None
    #: On a chain explorer.
    on_chain_record: str
    ipfs_url: str
    tokens_used: int | None = None
    steps: list[Any] | None = None
    idempotency_key: str | None = None
    #: The names of the checks that it passed; empty if it was not verified.
    checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verification:
    """The checks that an execution passed, by name. `refunded`: it has no result, and the whole amount went back."""

    execution_id: UUID
    refunded: bool
    checks: tuple[str, ...]
    #: One sentence for each check.
    details: dict[str, str] = field(default_factory=dict)
