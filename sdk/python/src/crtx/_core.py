"""What a buyer's client does, without I/O: each method is a flow of requests and pauses."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import quote, urlencode
from uuid import UUID

from pydantic import BaseModel, ValidationError

from . import _verify, models, wire
from ._flow import Broken, Flow, Pause, Reply, Send, backoff
from .errors import (
    ApiError,
    ConnectionFailed,
    CrtxError,
    NotFound,
    NotVerified,
    OutcomeUnknown,
    ResultUnavailable,
    VerificationFailed,
    of_code,
)
from .results import Result, Started, Verification

M = TypeVar("M", bound=BaseModel)

#: Of an error without a code of the service, such as a proxy's.
_RETRIED_STATUS = frozenset({408, 409, 429, 502, 503, 504})
#: Nothing of the call runs any more once one of these is answered.
_ENDED = frozenset({"execution_failed", "execution_timeout", "interrupted", "result_unavailable"})
_RETRIED_CODES = frozenset({"request_timeout", "rate_limited", "internal", "stale"})
#: Seconds that the service waits for the next event.
_EVENT_WAIT_S = 25
#: Stands for the code in an error that has none.
_NO_CODE = "http"


@dataclass
class _Attempts:
    """How one request, with its repetitions, went so far."""

    deadline: float
    max_retries: int
    max_retry_after: float
    failures: int = 0
    #: An attempt may have arrived, and its answer is not known.
    uncertain: bool = False
    execution_id: UUID | None = None

    def pause(self, error: CrtxError, retried: bool) -> float | None:
        """The pause before the next attempt; None if this was the last one."""
        pause = backoff(self.failures)
        if isinstance(error, ApiError) and error.retry_after is not None:
            if error.retry_after > self.max_retry_after:
                return None
            pause = max(error.retry_after, pause / 4)
        self.failures += 1
        late = time.monotonic() + pause >= self.deadline
        return None if not retried or late or self.failures > self.max_retries else pause


@dataclass
class Core:
    """The settings of a client."""

    base_url: str = ""
    api_key: str | None = None
    rpc_url: str | None = None
    program_id: str = _verify.PROGRAM_ID
    verify: bool = True
    timeout: float = 300.0
    max_retries: int = 2
    attempt_timeout: float = 60.0
    max_retry_after: float = 30.0
    #: The Solana node that the service names, once it was asked.
    named_node: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.base_url = (self.base_url or os.environ.get("CRTX_URL", "")).rstrip("/")
        self.api_key = self.api_key or os.environ.get("CRTX_API_KEY")
        self.rpc_url = self.rpc_url or os.environ.get("CRTX_RPC_URL")
        if not self.base_url.startswith(("https://", "http://")):
            raise ValueError("no base URL: pass base_url or set CRTX_URL")
        if self.api_key is not None:
            wire.session_key(self.api_key)

    # Requests.

    def _send(
        self,
        method: str,
        path: str,
        attempts: _Attempts,
        body: bytes | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Send:
        headers = {"accept": "application/json", "user-agent": "crtx-python", **(more or {})}
        if self.api_key is not None:
            headers["authorization"] = f"Bearer {self.api_key}"
        if body is not None:
            headers["content-type"] = "application/json"
        deadline = min(attempts.deadline, time.monotonic() + self.attempt_timeout)
        return Send(method, self.base_url + path, deadline, headers, body)

    def _attempts(self, timeout: float | None) -> _Attempts:
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        return _Attempts(deadline, self.max_retries, self.max_retry_after)

    def read(
        self, model: type[M], path: str, query: Mapping[str, Any] | None = None, timeout: float | None = None
    ) -> Flow[M]:
        """A read, repeated where that can help."""
        path = _with_query(path, query or {})
        attempts = self._attempts(timeout)
        while True:
            got: Reply | Broken = yield self._send("GET", path, attempts)
            error: CrtxError
            if isinstance(got, Broken):
                error, retried = ConnectionFailed(f"GET {path}: {got.reason}"), True
            elif got.status == 200:
                return _parsed(model, got.body)
            else:
                error, retried = _error(got)
            pause = attempts.pause(error, retried)
            if pause is None:
                raise error
            yield Pause(pause)

    # Paid calls.

    def execute(
        self,
        agent_id: str,
        task: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        verify: bool | None = None,
    ) -> Flow[Result]:
        """One paid call. A caller that may crash chooses the idempotency key itself and keeps it."""
        attempts, key = self._attempts(timeout), _key(idempotency_key)
        verify = self.verify if verify is None else verify
        if verify:
            # A result that cannot be checked is not paid for.
            yield from self._node(attempts)
        answer = yield from self._call(agent_id, task, parameters, False, key, attempts)
        found: models.ExecuteAnswer | models.ExecutionResponse
        if isinstance(answer, models.StatusAnswer):
            found = yield from self._until_ended(answer.execution_id, key, attempts)
        else:
            found = answer
        return (yield from self._result(found, agent_id, key, verify, attempts))

    def start(
        self,
        agent_id: str,
        task: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Flow[Started]:
        """Begins a paid call, and returns when its escrow is confirmed."""
        attempts, key = self._attempts(timeout), _key(idempotency_key)
        answer = yield from self._call(agent_id, task, parameters, True, key, attempts)
        return Started(answer.execution_id, key)

    def wait(
        self, started: Started | UUID | str, *, timeout: float | None = None, verify: bool | None = None
    ) -> Flow[Result]:
        """The result of a call that was started."""
        attempts = self._attempts(timeout)
        key = started.idempotency_key if isinstance(started, Started) else None
        id = started.execution_id if isinstance(started, Started) else UUID(str(started))
        found = yield from self._until_ended(id, key, attempts)
        return (yield from self._result(found, None, key, verify, attempts))

    def _call(
        self,
        agent_id: str,
        task: str,
        parameters: Mapping[str, Any] | None,
        is_async: bool,
        key: str,
        attempts: _Attempts,
    ) -> Flow[models.ExecuteAnswer | models.StatusAnswer]:
        """The answer to a call, whatever happens to single requests: each repeats the same call under the same key."""
        body = _body(task, parameters, is_async)
        path = f"/v1/agents/{quote(agent_id, safe='')}/execute"
        while True:
            got: Reply | Broken = yield self._send("POST", path, attempts, body, {"idempotency-key": key})
            error: CrtxError
            if isinstance(got, Reply) and 200 <= got.status < 300:
                answer = _answer(got.body)
                if answer is not None:
                    return answer
                got = Broken(True, "the answer is not one of the API")
            if isinstance(got, Broken):
                error, retried = ConnectionFailed(got.reason), True
                attempts.uncertain |= got.sent
            else:
                error, retried = _error(got)
                attempts.execution_id = error.execution_id or attempts.execution_id
                if error.code in _ENDED:
                    raise _of_call(error, key, error.execution_id)
                if error.code == "conflict" and retried:
                    # It still runs. That is no failure, and it is followed as long as there is time.
                    attempts.uncertain, attempts.failures = True, 0
                if error.code == "conflict" and not retried:
                    # The key belongs to another call, so no attempt of this one was taken.
                    raise _of_call(error, key, error.execution_id)
                # An error of the service that names no execution says that this attempt charged nothing.
                by_proxy = error.code == _NO_CODE and (got.status >= 500 or got.status == 408)
                attempts.uncertain |= error.execution_id is not None or by_proxy
            pause = attempts.pause(error, retried)
            if pause is None:
                raise self._final(error, key, attempts)
            yield Pause(pause)

    def _final(self, error: CrtxError, key: str | None, attempts: _Attempts) -> CrtxError:
        """What the caller gets after the last attempt: an attempt whose outcome is not known stays unknown."""
        if not attempts.uncertain:
            return _of_call(error, key, attempts.execution_id)
        unknown = OutcomeUnknown(f"the call may be paid; repeat it with the same idempotency key (last: {error})")
        unknown.__cause__ = error
        return _of_call(unknown, key, attempts.execution_id)

    def _until_ended(self, id: UUID, key: str | None, attempts: _Attempts) -> Flow[models.ExecutionResponse]:
        asked = 0
        attempts.uncertain, attempts.execution_id = True, id
        while True:
            left = attempts.deadline - time.monotonic()
            try:
                found = yield from self._execution(id, left)
            except CrtxError as error:
                is_known = isinstance(error, VerificationFailed) or (key is None and isinstance(error, NotFound))
                raise _of_call(error, key, id) if is_known else self._final(error, key, attempts)
            if found.status.value not in ("pending", "running"):
                if found.status.value == "failed" and found.result is None:
                    failure = found.error or models.ExecutionFailure(code="execution_failed", message="it was refunded")
                    raise _of_call(of_code(failure.code)(500, failure.code, failure.message), key, id)
                return found
            pause = min(0.1 * 1.5**asked, 2.0)
            asked += 1
            if time.monotonic() + pause >= attempts.deadline:
                raise self._final(CrtxError("the time is over, and it still runs"), key, attempts)
            yield Pause(pause)

    # Verification.

    def _node(self, attempts: _Attempts) -> Flow[str]:
        if self.rpc_url is not None:
            return self.rpc_url
        if self.named_node is None:
            left = attempts.deadline - time.monotonic()
            network = yield from self.read(models.NetworkResponse, "/v1/network", timeout=left)
            if network.rpc_url is None:
                raise NotVerified("the service names no Solana node: pass rpc_url, or verify=False")
            self.named_node = network.rpc_url
        return self.named_node

    def _result(
        self,
        found: models.ExecuteAnswer | models.ExecutionResponse,
        agent_id: str | None,
        key: str | None,
        verify: bool | None,
        attempts: _Attempts,
    ) -> Flow[Result]:
        """The result of an answer, verified."""
        result = _result_of(found, key)
        if not (self.verify if verify is None else verify):
            return result
        claims = _claims_of(found)
        claims = replace(claims, agent_id=agent_id or claims.agent_id, idempotency_key=key)
        try:
            checked = yield from self._check(claims, attempts)
        except (VerificationFailed, NotVerified) as error:
            if isinstance(error, VerificationFailed):
                error.refused = result
            else:
                error.result = result
            raise _of_call(error, key, result.execution_id)
        return replace(result, checks=checked.checks)

    def _check(self, claims: _verify.Claims, attempts: _Attempts) -> Flow[Verification]:
        details = _verify.check_content(claims) if claims.status != "failed" else {}
        # The call had its time: what is paid is checked, even if it came late.
        deadline = max(attempts.deadline, time.monotonic() + 15.0)
        node = yield from self._node(replace(attempts, deadline=deadline))
        try:
            evidence = yield from _verify.collect(claims, node, self.program_id, deadline)
            details |= {"record": f"{evidence.record_address} belongs to program {self.program_id}"}
            details |= {"identity": evidence.identity}
            details |= _verify.check_chain(claims, evidence)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise NotVerified("the Solana node's answer is malformed") from error
        refunded = claims.status == "failed"
        return Verification(claims.execution_id, refunded, tuple(details), details)

    # Reads.

    def check(self, execution_id: UUID | str, *, timeout: float | None = None) -> Flow[Verification]:
        """Checks an execution of the wallet, a refund too."""
        attempts = self._attempts(timeout)
        found = yield from self._execution(execution_id, timeout)
        return (yield from self._check(_claims_of(found), attempts))

    def get(self, execution_id: UUID | str, *, verify: bool | None = None) -> Flow[models.ExecutionResponse]:
        """An execution. If it has a result, the result is verified."""
        attempts = self._attempts(None)
        found = yield from self._execution(execution_id, None)
        if found.result is not None:
            yield from self._result(found, None, None, verify, attempts)
        return found

    def _execution(self, execution_id: UUID | str, timeout: float | None) -> Flow[models.ExecutionResponse]:
        asked = UUID(str(execution_id))
        found = yield from self.read(models.ExecutionResponse, f"/v1/executions/{asked}", timeout=timeout)
        if found.execution_id != asked:
            raise VerificationFailed("identity", f"the answer is of execution {found.execution_id}")
        return found

    def list(
        self,
        *,
        status: str | None = None,
        agent_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Flow[models.ExecutionListResponse]:
        """A page of the wallet's executions, newest first."""
        query = {"status": status, "agent_id": agent_id, "limit": limit, "cursor": cursor}
        return self.read(models.ExecutionListResponse, "/v1/executions", query)

    def events(self, after: int, types: Sequence[str] | None) -> Flow[models.EventListResponse]:
        """A page of events after a number; an empty one waits for the next event."""
        query = {"after": after, "types": types, "wait": _EVENT_WAIT_S}
        return self.read(models.EventListResponse, "/v1/events", query)

    def search(
        self,
        q: str | None = None,
        *,
        tags: Sequence[str] | None = None,
        max_price: str | None = None,
        verified_only: bool | None = None,
        sort: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Flow[models.AgentListResponse]:
        """A page of the agents that match."""
        query: dict[str, Any] = {"q": q, "tags": tags, "max_price": max_price, "verified_only": verified_only}
        query |= {"sort": sort, "limit": limit, "cursor": cursor}
        return self.read(models.AgentListResponse, "/v1/agents", query)

    def agent(self, agent_id: str) -> Flow[models.AgentResponse]:
        """The full listing of an agent."""
        return self.read(models.AgentResponse, f"/v1/agents/{quote(agent_id, safe='')}")


_RESULT_FIELDS = (
    "execution_id",
    "result",
    "result_hash",
    "cost_usdc",
    "execution_time_ms",
    "on_chain_record",
    "ipfs_url",
    "tokens_used",
    "steps",
)


def _claims_of(found: models.ExecutionResponse | models.ExecuteAnswer) -> _verify.Claims:
    claims = _verify.Claims(
        status=found.status.value, **{name: getattr(found, name) for name in _RESULT_FIELDS if name != "steps"}
    )
    if isinstance(found, models.ExecuteAnswer):
        return claims
    return replace(
        claims,
        agent_id=found.agent_id,
        creator_amount_usdc=found.creator_amount_usdc,
        platform_amount_usdc=found.platform_amount_usdc,
    )


def _result_of(found: models.ExecutionResponse | models.ExecuteAnswer, key: str | None) -> Result:
    if found.result is None or found.result_hash is None or found.ipfs_url is None:
        error = ResultUnavailable(
            502, "result_unavailable", "the execution is paid, and the service has no result of it"
        )
        raise _of_call(error, key, found.execution_id)
    return Result(**{name: getattr(found, name) for name in _RESULT_FIELDS}, idempotency_key=key)


def _key(given: str | None) -> str:
    return str(uuid.uuid4()) if given is None else wire.idempotency_key(given)


def _body(task: str, parameters: Mapping[str, Any] | None, is_async: bool) -> bytes:
    """RFC 8785: what is hashed on chain is what is sent, and a number that would be changed is refused here."""
    return wire.canonical({"task": task, "parameters": parameters or {}, "async": is_async})


def _with_query(path: str, query: Mapping[str, Any]) -> str:
    def text(value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)

    given = {name: text(value) for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        found = wire.strict_json(body)
    except wire.WireError:
        return None
    return found if isinstance(found, dict) else None


def _answer(body: bytes) -> models.ExecuteAnswer | models.StatusAnswer | None:
    found = _object(body)
    for model in (models.ExecuteAnswer, models.StatusAnswer):
        try:
            return model.model_validate(found)
        except ValidationError:
            continue
    return None


def _parsed(model: type[M], body: bytes) -> M:
    found = _object(body)
    try:
        return model.model_validate(found)
    except ValidationError as error:
        raise CrtxError(f"the answer is not a {model.__name__}") from error


def _error(reply: Reply) -> tuple[ApiError, bool]:
    """The error of an answer, and whether the request can be repeated."""
    found = (_object(reply.body) or {}).get("error")
    detail = found if isinstance(found, dict) else {}
    code, message = str(detail.get("code", "")), str(detail.get("message", ""))
    after = reply.headers.get("retry-after", "")
    retry_after = float(after) if re.fullmatch(r"[0-9]{1,6}", after) else None
    error = of_code(code)(reply.status, code or _NO_CODE, message or "no error of the service", retry_after)
    try:
        error.execution_id = UUID(detail["execution_id"])
    except (KeyError, ValueError, TypeError, AttributeError):
        error.execution_id = None
    said = reply.headers.get("x-should-retry", "").lower()
    if said in ("true", "false"):
        return error, said == "true"
    if code in ("conflict", "unavailable"):
        return error, retry_after is not None
    if code:
        return error, code in _RETRIED_CODES
    return error, reply.status in _RETRIED_STATUS


def _of_call(error: CrtxError, key: str | None, execution_id: UUID | None) -> CrtxError:
    error.idempotency_key = key or None
    error.execution_id = execution_id
    return error
