"""What a buyer does when answers are lost, late or refused: never a second charge, never a lost result."""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import httpx
import pytest
from crtx import (
    ApiError,
    AsyncClient,
    Client,
    Conflict,
    ConnectionFailed,
    ExecutionFailed,
    InsufficientBalance,
    InvalidRequest,
    OutcomeUnknown,
    RateLimited,
    Result,
    ResultUnavailable,
    ServiceUnavailable,
    VerificationFailed,
    wire,
)
from support import CUT, Answer, FaultyServer, Request, error, serving

pytestmark = pytest.mark.usefixtures("no_pauses")

AGENT_UUID = "00000000-0000-4000-8000-000000000001"
ID = "806e1eba-133b-4100-9a5e-ddbe7c578906"
AGENT = "BJu51f7FUVrLYHU1rHsBKtCGWToEFoKUhz3brbxX8A86"
RESULT = "done"
HASH = "sha256:" + hashlib.sha256(RESULT.encode()).hexdigest()
DONE = Answer(
    200,
    {
        "execution_id": ID,
        "status": "completed",
        "result": RESULT,
        "result_hash": HASH,
        "cost_usdc": 0.05,
        "execution_time_ms": 3,
        "on_chain_record": f"https://explorer.example/address/{AGENT}",
        "ipfs_url": f"https://api.example/ipfs/{wire.cid(HASH)}",
    },
)
RUNNING = Answer(202, {"execution_id": ID, "status": "running"})
STILL_RUNS = error("conflict", 409, ID, retry_after="0")
PROXY = Answer(502, b"<html>bad gateway</html>", {"content-type": "text/html"})


def record(status: str, **more: Any) -> Answer:
    """An execution as `GET /v1/executions/{id}` shows it."""
    assert isinstance(DONE.body, dict)
    is_done = status == "completed"
    shown = {
        **DONE.body,
        "status": status,
        "agent_id": AGENT,
        "agent_name": "a",
        "creator_amount_usdc": 0.0495,
        "platform_amount_usdc": 0.0005,
        "settled_by": "gateway",
        "binding": True,
        "initiated_at": "2026-11-22T16:10:42Z",
        "completed_at": "2026-11-22T16:10:42Z" if is_done else None,
        **({} if is_done else {"result": None, "result_hash": None, "ipfs_url": None}),
        **more,
    }
    return Answer(200, shown)


class Script:
    """Answers calls one after the other, the last one again and again, and reads with `shown`."""

    def __init__(self, *answers: Answer, shown: Answer | None = None) -> None:
        self.answers, self.shown, self.calls = list(answers), shown, 0

    def __call__(self, request: Request) -> Answer:
        if request.method == "GET":
            assert self.shown is not None
            return self.shown
        self.calls += 1
        return self.answers[min(self.calls, len(self.answers)) - 1]


Buy = Callable[..., Result]


def sync_buy(server: FaultyServer, **settings: Any) -> Result:
    key = settings.pop("idempotency_key", None)
    # Certificates take most of the time of a test, and are not needed here.
    with Client(server.url, verify=False, transport=httpx.HTTPTransport(verify=False), **settings) as client:
        return client.execute(AGENT, "task", {"a": 1.5}, idempotency_key=key)


def async_buy(server: FaultyServer, **settings: Any) -> Result:
    key = settings.pop("idempotency_key", None)

    async def run() -> Result:
        transport = httpx.AsyncHTTPTransport(verify=False)
        async with AsyncClient(server.url, verify=False, transport=transport, **settings) as client:
            return await client.execute(AGENT, "task", {"a": 1.5}, idempotency_key=key)

    return asyncio.run(run())


@pytest.fixture(params=[sync_buy, async_buy], ids=["sync", "async"])
def buy(request: pytest.FixtureRequest) -> Buy:
    chosen: Buy = request.param
    return chosen


FAULTS = {
    "cut before the answer": CUT,
    "cut in the head of the answer": Answer(200, DONE.body, cut_after=20),
    "cut in the body of the answer": Answer(200, DONE.body, cut_after=300),
    "not the answer of the API": Answer(200, b"<html>welcome</html>"),
    "408 while the body is read": error("request_timeout", 408),
    "409 of a call that runs": STILL_RUNS,
    "429": error("rate_limited", 429, retry_after="0"),
    "500 of a fault": error("internal", 500, ID),
    "502 of a proxy": PROXY,
    "503 with Retry-After": error("unavailable", 503, retry_after="0"),
    "504 of a proxy": Answer(504, b""),
    "told to retry": error("forbidden", 403, x_should_retry="true"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_repeated_as_the_very_same_call(buy: Buy, fault: Answer) -> None:
    with serving(Script(fault, DONE)) as server:
        result = buy(server)
    assert (result.result, result.cost_usdc) == (RESULT, Decimal("0.05"))
    first, second = server.requests
    assert first.body == second.body == b'{"async":false,"parameters":{"a":1.5},"task":"task"}'
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"] == result.idempotency_key


REFUSALS = {
    "400": (error("invalid_request", 400), InvalidRequest),
    "402": (error("insufficient_balance", 402), InsufficientBalance),
    "408 of the agent": (error("execution_timeout", 408, ID), ExecutionFailed),
    "409 of another call": (error("conflict", 409), Conflict),
    "429 for an hour": (error("rate_limited", 429, retry_after="3600"), RateLimited),
    "500 of the agent": (error("execution_failed", 500, ID), ExecutionFailed),
    "502 without a result": (error("result_unavailable", 502, ID), ResultUnavailable),
    "503 without Retry-After": (error("unavailable", 503), ServiceUnavailable),
    "told not to retry": (error("rate_limited", 429, retry_after="0", x_should_retry="false"), RateLimited),
    "a code of a later version": (error("new_code", 422), ApiError),
}


@pytest.mark.parametrize(("answer", "expected"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refusal_is_final_and_typed_by_its_code(buy: Buy, answer: Answer, expected: type[ApiError]) -> None:
    with serving(Script(answer)) as server, pytest.raises(expected) as refused:
        buy(server, idempotency_key="mine")
    assert len(server.requests) == 1
    assert type(refused.value) is expected and refused.value.idempotency_key == "mine"
    assert isinstance(answer.body, dict) and isinstance(refused.value, ApiError)
    assert refused.value.code == answer.body["error"]["code"]
    assert str(refused.value.execution_id) == str(answer.body["error"]["execution_id"])


UNKNOWN = {
    "always cut": (CUT,),
    "a proxy's error": (PROXY,),
    "cut, and then refused": (CUT, error("rate_limited", 429, retry_after="3600")),
    "cut, and then without money": (CUT, error("insufficient_balance", 402)),
    "an opening that is not confirmed": (error("unavailable", 503, ID),),
    "a fault of the service": (error("internal", 500, ID),),
}


@pytest.mark.parametrize("answers", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_an_outcome_that_is_not_known_is_never_called_failed(buy: Buy, answers: tuple[Answer, ...]) -> None:
    with serving(Script(*answers)) as server:
        with pytest.raises(OutcomeUnknown) as unknown:
            buy(server, idempotency_key="mine")
        assert unknown.value.idempotency_key == "mine"
        named = isinstance(answers[-1].body, dict) and answers[-1].body["error"]["execution_id"]
        assert unknown.value.execution_id == (uuid.UUID(named) if named else None)
        server.handle = Script(DONE)
        assert buy(server, idempotency_key=unknown.value.idempotency_key).result == RESULT


def test_a_service_that_is_not_there_charges_nothing(buy: Buy) -> None:
    with serving(Script(DONE)) as server:
        pass
    with pytest.raises(ConnectionFailed) as failed:
        buy(server)
    assert failed.value.idempotency_key


def test_two_retries_are_made_by_default_and_as_many_as_are_set(buy: Buy) -> None:
    for settings, expected in (({}, 3), ({"max_retries": 0}, 1), ({"max_retries": 5}, 6)):
        with serving(Script(CUT)) as server, pytest.raises(OutcomeUnknown):
            buy(server, **settings)
        assert len(server.requests) == expected


def test_a_call_that_runs_long_is_followed_and_uses_no_retries_up(buy: Buy) -> None:
    with serving(Script(*[STILL_RUNS] * 10, DONE)) as server:
        assert buy(server).result == RESULT
    assert len(server.requests) == 11


def test_a_settlement_that_takes_long_is_followed_to_its_end(buy: Buy) -> None:
    script = Script(RUNNING, shown=record("running"))
    with serving(script) as server:

        def handle(request: Request) -> Answer:
            if len(server.requests) == 4:
                script.shown = record("completed")
            return CUT if len(server.requests) == 3 else script(request)

        server.handle = handle
        result = buy(server)
    assert result.result == RESULT and result.idempotency_key
    assert [request.method for request in server.requests] == ["POST", "GET", "GET", "GET"]


@pytest.mark.parametrize(
    "shown", [Answer(200, b"{}"), PROXY, error("unauthorized", 401)], ids=["malformed", "proxy", "401"]
)
def test_a_followed_call_that_cannot_be_read_stays_unknown(buy: Buy, shown: Answer) -> None:
    with serving(Script(RUNNING, shown=shown)) as server, pytest.raises(OutcomeUnknown) as unknown:
        buy(server, idempotency_key="mine")
    assert (unknown.value.idempotency_key, unknown.value.execution_id) == ("mine", uuid.UUID(ID))


def test_a_followed_call_that_fails_says_why(buy: Buy) -> None:
    failure = record("failed", error={"code": "execution_timeout", "message": "no answer"})
    with serving(Script(RUNNING, shown=failure)) as server, pytest.raises(ExecutionFailed, match="no answer") as failed:
        buy(server, idempotency_key="mine")
    assert (failed.value.idempotency_key, failed.value.execution_id) == ("mine", uuid.UUID(ID))


def test_the_time_of_a_caller_ends_with_an_unknown_outcome(buy: Buy) -> None:
    for script in (Script(STILL_RUNS), Script(RUNNING, shown=record("running"))):
        started = time.monotonic()
        with serving(script) as server, pytest.raises(OutcomeUnknown) as unknown:
            buy(server, timeout=0.5)
        assert time.monotonic() - started < 3
        assert unknown.value.execution_id == uuid.UUID(ID)


def test_slow_bytes_end_with_the_time_of_the_attempt_and_not_later(buy: Buy) -> None:
    started = time.monotonic()
    with serving(Script(Answer(200, DONE.body, drip=0.2), DONE)) as server:
        assert buy(server, attempt_timeout=0.3).result == RESULT
    assert time.monotonic() - started < 3 and len(server.requests) == 2


def test_slow_bytes_in_time_are_an_answer(buy: Buy) -> None:
    with serving(Script(Answer(200, DONE.body, drip=0.01))) as server:
        assert buy(server).result == RESULT
    assert len(server.requests) == 1


def test_an_endless_answer_is_not_read(buy: Buy) -> None:
    with serving(Script(Answer(200, b"x" * (9 * 1024 * 1024)))) as server, pytest.raises(OutcomeUnknown, match="bytes"):
        buy(server, max_retries=0)


def test_what_would_be_changed_on_its_way_is_refused_before_it_is_sent() -> None:
    with serving(Script(DONE)) as server, Client(server.url, verify=False) as client:
        for task, parameters in (
            ("t", {"n": 2**53 + 1}),
            ("t", {"n": float("nan")}),
            ("\ud800", {}),
            ("t", {"d": Decimal("0.12345678901234567890")}),
        ):
            with pytest.raises(ValueError):
                client.execute(AGENT, task, parameters)
        for key in ("", "a b", "é", "x" * 256):
            with pytest.raises(ValueError):
                client.execute(AGENT, "t", idempotency_key=key)
    assert server.requests == []


def test_reads_are_repeated_and_pages_of_events_follow_each_other() -> None:
    event: dict[str, Any] = {"id": ID, "type": "execution.opened", "wallet": AGENT, "data": {}}
    event |= {"at": "2026-11-22T16:10:42Z", "previous": None}

    def handle(request: Request) -> Answer:
        if len(server.requests) % 2:
            return CUT
        after = int(request.path.split("after=")[1].split("&")[0])
        events = [{**event, "sequence": after + 1}]
        return Answer(200, {"events": events, "next_after": after + 1, "oldest": 1, "newest": after + 1})

    with serving(handle) as server, Client(server.url) as client:
        events = client.events(after=3)
        assert [next(events).sequence for _ in range(3)] == [4, 5, 6]


def test_a_key_is_sent_only_to_the_service_and_stands_in_no_error() -> None:
    key = "crtx_test_" + wire.base58(bytes(range(1, 33)))
    with serving(Script(PROXY)) as server, Client(server.url, key, verify=False) as client:
        with pytest.raises(OutcomeUnknown) as unknown:
            client.execute(AGENT, "secret task")
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    assert key not in repr(unknown.value) and "secret task" not in repr(unknown.value)
    with pytest.raises(ValueError):
        Client(server.url, "crtx_prod_1")


def test_the_answer_of_another_execution_is_refused() -> None:
    with serving(Script(shown=record("completed"))) as server, Client(server.url, verify=False) as client:
        for ask in (client.get, client.wait, client.verify):
            with pytest.raises(VerificationFailed, match="identity"):
                ask(AGENT_UUID)
        assert client.get(ID).result == RESULT
