"""The seller's side: what it refuses, that a call runs once, and that nothing stays in progress for ever."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from crtx import Agent, Done, Guard, KeyPair, MemoryGuard, Output, Refused, Run, SqliteGuard, Wait, wire
from crtx.fastapi import sell as sell_fastapi
from crtx.flask import sell as sell_flask
from fastapi import FastAPI
from flask import Flask
from nacl.signing import SigningKey
from pydantic import BaseModel, ConfigDict

KEY = KeyPair(SigningKey(bytes(range(32))))
RECORD = wire.base58(bytes(range(32, 64)))
ID = "806e1eba-133b-4100-9a5e-ddbe7c578906"


def asked(**more: Any) -> bytes:
    request = {
        "execution_id": ID,
        "task": "a task",
        "parameters": {},
        "user_pubkey": RECORD,
        "timeout_seconds": 10,
        "execution_record": RECORD,
        "opened_at_unix_s": 1_790_000_000,
        **more,
    }
    return json.dumps({name: value for name, value in request.items() if value is not ...}).encode()


def answers(agent: Agent, *bodies: bytes) -> list[Any]:
    """What an agent answers to requests that come at the same time."""

    async def run() -> list[Any]:
        got = await asyncio.gather(*(agent.answer(body) for body in bodies))
        return [(status, json.loads(body)) for status, body in got]

    return asyncio.run(run())


def echo(task: str) -> str:
    return task


class Counter:
    """Counts its runs, each of which takes some time."""

    def __init__(self, seconds: float = 0.05) -> None:
        self.runs, self.seconds = 0, seconds

    async def __call__(self, task: str) -> str:
        self.runs += 1
        await asyncio.sleep(self.seconds)
        return f"{task} {self.runs}"


@pytest.fixture(params=["memory", "sqlite"])
def guard(request: pytest.FixtureRequest, tmp_path: Path) -> Guard:
    return MemoryGuard() if request.param == "memory" else SqliteGuard(tmp_path / "calls.db")


def test_a_result_has_its_hash_and_both_signatures() -> None:
    ((status, answer),) = answers(Agent(echo, KEY), asked(task="Grüße"))
    public = wire.address_bytes(KEY.address)
    assert (status, answer["status"], answer["result"]) == (200, "completed", "Grüße")
    assert answer["result_hash"] == wire.result_hash("Grüße")
    assert wire.is_signed_by(public, answer["result_hash"].encode(), wire.signature_bytes(answer["signature"]))
    call = wire.call_message(wire.address_bytes(RECORD), 1_790_000_000, answer["result_hash"])
    assert wire.is_signed_by(public, call, wire.signature_bytes(answer["call_signature"]))


def failing(task: str) -> str:
    raise Refused("the text is too long")


def crashing(task: str) -> str:
    raise RuntimeError(f"secret of {task}")


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (failing, "the text is too long"),
        (crashing, "the agent failed (RuntimeError)"),
        (lambda task: 5, "the agent failed (TypeError)"),
        (lambda task: "\ud800", "the agent failed (UnicodeEncodeError)"),
        (lambda task: "x" * (1024 * 1024 + 1), "the result has more than 1 MiB"),
    ],
)
def test_a_function_that_fails_answers_a_signed_failure(
    work: Callable[[str], str], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        ((status, answer),) = answers(Agent(work, KEY), asked())
    assert (status, answer["status"], answer["error"]) == (200, "failed", said)
    assert answer["result"] is answer["result_hash"] is answer["signature"] is None
    message = wire.failure_message(wire.address_bytes(RECORD), 1_790_000_000)
    assert wire.is_signed_by(
        wire.address_bytes(KEY.address), message, wire.signature_bytes(answer["failure_signature"])
    )
    assert "secret" not in caplog.text and "a task" not in caplog.text


MALFORMED = {
    "no JSON": b"{",
    "an array": b"[]",
    "a member twice": b'{"task":"a","task":"b"}',
    "NaN": b'{"task":NaN}',
    "no task": asked(task=...),
    "a task that is no text": asked(task=5),
    "parameters that are no object": asked(parameters=[1]),
    "an id that is no UUID": asked(execution_id="1"),
    "no record": asked(execution_record=...),
    "a record that is no address": asked(execution_record="0"),
    "a second that is no integer": asked(opened_at_unix_s=1.5),
    "a second beyond 64 bits": asked(opened_at_unix_s=2**63),
    "no time": asked(timeout_seconds=0),
    "too much time": asked(timeout_seconds=901),
    "too deep": b'{"parameters":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_request_is_refused_and_nothing_runs(body: bytes) -> None:
    work = Counter()
    ((status, answer),) = answers(Agent(work, KEY), body)
    assert status == 400 and answer["error"] and work.runs == 0


def test_unknown_members_are_skipped() -> None:
    ((status, answer),) = answers(Agent(echo, KEY), asked(new_member={"a": 1}))
    assert (status, answer["status"]) == (200, "completed")


class Options(BaseModel):
    """Parameters of a call."""

    model_config = ConfigDict(extra="forbid")
    times: int


def repeat(task: str, options: Options) -> str:
    return task * options.times


def test_parameters_are_checked_by_the_model_of_the_function() -> None:
    agent = Agent(repeat, KEY)
    good, wrong, more = answers(
        agent, asked(parameters={"times": 2}), asked(parameters={"times": "x"}), asked(parameters={"times": 1, "b": 1})
    )
    assert good[1]["result"] == "a taska task"
    assert wrong[1]["status"] == more[1]["status"] == "failed"
    assert wrong[1]["error"].startswith("parameters: times: ")


def test_parameters_without_a_model_are_those_of_the_request() -> None:
    agent = Agent(lambda task, parameters: json.dumps(parameters), KEY)
    ((_, answer),) = answers(agent, asked(parameters={"a": 1.5, "b": [1]}))
    assert json.loads(answer["result"]) == {"a": 1.5, "b": [1]}


def test_tokens_and_steps_are_told_within_their_limits() -> None:
    for output, told in (
        (Output("r", 5, [{"a": 1}]), {"tokens_used": 5, "steps": [{"a": 1}]}),
        (Output("r", 1_000_000_001, [{"a": "x" * 300_000}]), {}),
    ):
        ((_, answer),) = answers(Agent(lambda task, output=output: output, KEY), asked())
        assert {name: answer[name] for name in ("tokens_used", "steps") if name in answer} == told


def test_requests_for_one_call_wait_for_its_one_run(guard: Guard) -> None:
    work = Counter()
    agent = Agent(work, KEY, guard=guard)
    got = answers(agent, *[asked()] * 20)
    assert work.runs == 1 and all(one == got[0] for one in got)
    assert answers(Agent(work, KEY, guard=guard), asked()) == got[:1], "also after a restart"
    assert work.runs == 1


def test_another_task_under_a_public_execution_id_is_another_call(guard: Guard) -> None:
    work = Counter()
    agent = Agent(work, KEY, guard=guard)
    mine, others = answers(agent, asked(task="mine"), asked(task="a stranger's"))
    assert work.runs == 2 and mine[1]["result"] != others[1]["result"]


def test_a_run_that_timed_out_fails_before_the_marketplace_gives_up_and_never_runs_again(guard: Guard) -> None:
    work = Counter(seconds=60)
    agent = Agent(work, KEY, guard=guard)
    started = time.monotonic()
    ((_, answer),) = answers(agent, asked(timeout_seconds=1))
    assert time.monotonic() - started < 1
    assert (answer["status"], answer["error"]) == ("failed", "the time of this call is over")
    assert answers(agent, asked(timeout_seconds=1)) == [(200, answer)]
    assert work.runs == 1


def test_a_run_in_a_thread_that_is_too_late_changes_nothing(guard: Guard) -> None:
    may_end, runs = threading.Event(), []

    def work(task: str) -> str:
        runs.append(task)
        may_end.wait(10)
        return "late"

    async def run() -> tuple[Any, Any]:
        agent = Agent(work, KEY, guard=guard)
        first = await agent.answer(asked(timeout_seconds=1))
        may_end.set()
        return first, await agent.answer(asked(timeout_seconds=1))

    first, again = asyncio.run(run())
    assert first == again and b"the time of this call is over" in first[1] and len(runs) == 1


def test_a_run_that_was_lost_with_its_process_is_failed_after_its_time_and_not_repeated(guard: Guard) -> None:
    work = Counter()
    agent = Agent(work, KEY, guard=guard)
    names: list[tuple[str, str]] = []

    class Spy:
        """Notes the names of a call, and leaves it in progress."""

        async def begin(self, execution_id: str, request_hash: str, until: float) -> Run | Wait | Done:
            names.append((execution_id, request_hash))
            await guard.begin(execution_id, request_hash, time.time() + 0.2)
            return Done(b"{}")

        async def finish(self, execution_id: str, request_hash: str, answer: bytes) -> bytes:
            return answer

    answers(Agent(work, KEY, guard=Spy()), asked())
    (_, answer), (_, same) = answers(agent, asked(), asked())
    assert answer["status"] == "failed" and answer == same and work.runs == 0
    assert asyncio.run(guard.begin(*names[0], 0)) == Done(json.dumps(answer, separators=(",", ":")).encode())


def test_processes_that_share_a_guard_run_a_call_once(tmp_path: Path) -> None:
    work = Counter(seconds=0.3)
    agents = [Agent(work, KEY, guard=SqliteGuard(tmp_path / "calls.db")) for _ in range(4)]

    async def run() -> list[tuple[int, bytes]]:
        return list(await asyncio.gather(*(agent.answer(asked()) for agent in agents)))

    got = asyncio.run(run())
    assert work.runs == 1 and len(set(got)) == 1


def test_a_caller_that_hangs_up_does_not_stop_the_run() -> None:
    work = Counter()

    async def run() -> bytes:
        agent = Agent(work, KEY)
        first = asyncio.create_task(agent.answer(asked()))
        await asyncio.sleep(0.01)
        first.cancel()
        return (await agent.answer(asked()))[1]

    assert json.loads(asyncio.run(run()))["result"] == "a task 1"


def test_memory_is_bounded() -> None:
    async def run() -> tuple[int, int]:
        guard = MemoryGuard(max_answers=10, max_bytes=1_000, max_running=5)
        agent = Agent(echo, KEY, guard=guard)
        for number in range(50):
            await agent.answer(asked(task=str(number)))
        busy = Agent(Counter(seconds=0.2), KEY, guard=guard)
        got = await asyncio.gather(*(busy.answer(asked(task=f"busy {number}")) for number in range(10)))
        return guard._bytes, [status for status, _ in got].count(503)

    held, refused = asyncio.run(run())
    assert held <= 1_000 and refused == 5


def test_a_signer_can_be_asked_over_a_network_and_a_call_has_an_answer_without_it() -> None:
    class Remote:
        address = KEY.address

        def __init__(self, works: bool) -> None:
            self.works = works

        async def _ask(self, message: bytes) -> bytes:
            await asyncio.sleep(0)
            if not self.works:
                raise ConnectionError
            return KEY.sign(message)

        def sign(self, message: bytes) -> bytes | Awaitable[bytes]:
            return self._ask(message)

    ((_, signed),) = answers(Agent(echo, Remote(True)), asked())
    assert signed == answers(Agent(echo, KEY), asked())[0][1]
    ((_, unsigned),) = answers(Agent(echo, Remote(False)), asked())
    assert unsigned["status"] == "failed" and "failure_signature" not in unsigned


def test_a_key_comes_from_a_file_or_the_environment_and_is_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = [*range(32), *wire.address_bytes(KEY.address)]
    file = tmp_path / "key.json"
    file.write_text(json.dumps(pair))
    monkeypatch.setenv("RESULT_KEY", str(file))
    monkeypatch.setenv("PAIR", json.dumps(pair))
    for key in (KeyPair.from_file(file), KeyPair.from_env(), KeyPair.from_env("PAIR")):
        assert key.address == KEY.address and repr(key) == f"KeyPair({KEY.address})"
    assert Agent(echo).address == Agent(echo, file).address == KEY.address
    for bad in ("", "{}", "[1,2]", json.dumps(pair[:63]), json.dumps([*pair[:32], *pair[:32]]), "[300]"):
        with pytest.raises(ValueError) as refused:
            KeyPair.from_text(bad)
        assert refused.value.__cause__ is None and "31" not in str(refused.value)


def fastapi_app(agent_path: str) -> httpx.AsyncBaseTransport:
    app = FastAPI()
    sell_fastapi(app, agent_path, echo, KEY)
    return httpx.ASGITransport(app)


def plain_app(agent_path: str) -> httpx.AsyncBaseTransport:
    return httpx.ASGITransport(Agent(echo, KEY))


@pytest.mark.parametrize("transport", [plain_app, fastapi_app])
def test_an_application_answers_calls_names_its_key_and_reads_no_endless_body(
    transport: Callable[[str], httpx.AsyncBaseTransport],
) -> None:
    async def run() -> None:
        async with httpx.AsyncClient(transport=transport("/execute"), base_url="http://seller") as client:
            called = await client.post("/execute", content=asked())
            assert called.json()["result"] == "a task" and called.headers["content-type"] == "application/json"
            assert (await client.get("/execute")).json()["result_key"] == KEY.address
            assert (await client.post("/execute", content=b"x" * (9 * 1024 * 1024))).status_code == 413

    asyncio.run(run())


def test_flask_answers_the_same() -> None:
    app = Flask(__name__)
    sell_flask(app, "/execute", echo, KEY)
    client = app.test_client()
    assert client.post("/execute", data=asked()).get_json() == answers(Agent(echo, KEY), asked())[0][1]
    assert client.get("/execute").get_json()["result_key"] == KEY.address
    assert client.post("/execute", data=b"x" * (9 * 1024 * 1024)).status_code == 413


def test_a_function_of_another_shape_is_refused_when_it_is_given() -> None:
    for work in (lambda: "", lambda a, b, c: ""):
        with pytest.raises(TypeError):
            Agent(work, KEY)
