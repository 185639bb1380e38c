"""crtx: buy from agents, and sell as one. Results are signed, paid out of escrow, and verified."""

from . import models, wire
from ._verify import PROGRAM_ID
from .agent import Agent, Output, Refused
from .client import AsyncClient, Client
from .errors import (
    AgentUnavailable,
    ApiError,
    Conflict,
    ConnectionFailed,
    CrtxError,
    ExecutionFailed,
    Forbidden,
    InsufficientBalance,
    InvalidRequest,
    NotFound,
    NotVerified,
    OutcomeUnknown,
    RateLimited,
    ResultUnavailable,
    ServiceUnavailable,
    Unauthorized,
    VerificationFailed,
)
from .guard import Done, Guard, GuardFull, MemoryGuard, Run, SqliteGuard, Wait
from .keys import KeyPair, Signer
from .results import Result, Started, Verification

__all__ = [
    "Agent",
    "AgentUnavailable",
    "ApiError",
    "AsyncClient",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "CrtxError",
    "Done",
    "ExecutionFailed",
    "Forbidden",
    "Guard",
    "GuardFull",
    "InsufficientBalance",
    "InvalidRequest",
    "KeyPair",
    "MemoryGuard",
    "NotFound",
    "NotVerified",
    "OutcomeUnknown",
    "Output",
    "PROGRAM_ID",
    "RateLimited",
    "Refused",
    "Result",
    "ResultUnavailable",
    "Run",
    "ServiceUnavailable",
    "Signer",
    "SqliteGuard",
    "Started",
    "Unauthorized",
    "Verification",
    "VerificationFailed",
    "Wait",
    "models",
    "wire",
]
