"""Errors of calls. Each one that belongs to a paid call has its idempotency key: the same call with the same key goes
on where the error left it, and never pays twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

if TYPE_CHECKING:
    from .results import Result


class CrtxError(Exception):
    """Every error of this library."""

    #: The idempotency key of the call; None for reads.
    idempotency_key: str | None = None
    #: The execution, if one is known.
    execution_id: UUID | None = None


class ConnectionFailed(CrtxError):
    """The service was not reached, so nothing was charged; or a read was cut off."""


class OutcomeUnknown(CrtxError):
    """The call may be paid or may not: the answer got lost, or the time was over while it ran. The same call with this
    idempotency key gets its answer; a new key would pay again."""


class VerificationFailed(CrtxError):
    """A result, its signature, its record or its settlement is not what it has to be: `check` names what."""

    def __init__(self, check: str, detail: str, result: Result | None = None) -> None:
        super().__init__(f"{check}: {detail}")
        self.check = check
        self.detail = detail
        #: What was refused. Do not use it as a result.
        self.refused = result


class NotVerified(CrtxError):
    """The result could not be checked, because the Solana node does not show what is needed. It is in `result`, and
    `verify` with the execution id checks it later."""

    def __init__(self, detail: str, result: Result | None = None) -> None:
        super().__init__(detail)
        self.result = result


class ApiError(CrtxError):
    """An error of the service, by its code."""

    codes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, status: int, code: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        #: Seconds after which the service can be asked again.
        self.retry_after = retry_after


class InvalidRequest(ApiError):
    """Something of the request is wrong: the message names it."""

    codes = (
        "invalid_request",
        "method_not_allowed",
        "payload_too_large",
        "uri_too_long",
        "unsupported_media_type",
        "headers_too_large",
    )


class Unauthorized(ApiError):
    """The API key is missing, malformed, unknown, expired or revoked."""

    codes = ("unauthorized",)


class InsufficientBalance(ApiError):
    """The wallet's USDC, or its approval for keys, is below the price."""

    codes = ("insufficient_balance",)


class Forbidden(ApiError):
    """The key's grant does not allow this call."""

    codes = ("forbidden",)


class NotFound(ApiError):
    """No such agent, execution or content."""

    codes = ("agent_not_found", "execution_not_found", "not_found")


class Conflict(ApiError):
    """The idempotency key belongs to another call."""

    codes = ("conflict",)


class AgentUnavailable(ApiError):
    """The agent takes no calls: it is paused, or its creator cannot be paid."""

    codes = ("agent_paused", "agent_unpayable")


class RateLimited(ApiError):
    """Too many calls; `retry_after` says when to try again."""

    codes = ("rate_limited",)


class ExecutionFailed(ApiError):
    """The call failed, and the whole amount was refunded. A new attempt needs a new idempotency key."""

    codes = ("execution_failed", "execution_timeout", "interrupted")


class ResultUnavailable(ApiError):
    """The call is paid, and the service does not have its result."""

    codes = ("result_unavailable",)


class ServiceUnavailable(ApiError):
    """The service cannot answer now."""

    codes = ("unavailable", "stale", "internal", "request_timeout")


_BY_CODE: dict[str, type[ApiError]] = {code: kind for kind in ApiError.__subclasses__() for code in kind.codes}


def of_code(code: str) -> type[ApiError]:
    """The class of a code. A code that this version does not know is an `ApiError`."""
    return _BY_CODE.get(code, ApiError)
