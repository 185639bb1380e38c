"""Sells a function: an ASGI application that answers the marketplace's calls with what the function returns."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import logging
import time
import typing
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ValidationError

from . import wire
from .guard import Done, Guard, GuardFull, MemoryGuard, Run
from .keys import KeyPair, Signer

#: Largest request: a body of 1 MiB with every character escaped fits.
MAX_REQUEST_BYTES = 8 * 1024 * 1024
_MAX_RESULT_BYTES = 1024 * 1024
_MAX_STEPS_BYTES = 256 * 1024
_MAX_TOKENS = 1_000_000_000
_MAX_ERROR_CHARS = 500
_MAX_TIMEOUT_S = 900
#: Pause between two questions about another process's run.
_ASK_EVERY_S = 0.1

_log = logging.getLogger("crtx")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class Output:
    """A result with more than its text."""

    result: str
    tokens_used: int | None = None
    #: The reasoning trace, a list of JSON objects. One of more than 256 KiB is left out.
    steps: list[Any] | None = None


class Refused(Exception):
    """Raise it to fail a call: the caller gets the money back and sees the message."""


@dataclass(frozen=True)
class _Request:
    execution_id: str
    task: str
    parameters: dict[str, Any]
    timeout_seconds: int
    record: bytes
    opened_at_unix_s: int
    #: Names the call together with the execution id.
    hash: str


class Agent:
    """An ASGI application that sells `work`.

    `work` takes the task, or the task and the parameters, and returns the result as a text or an `Output`; it can be a
    coroutine. If its second argument is annotated with a pydantic model, parameters that do not match are refused.
    `key` is the file of the result key or a `Signer`. Without it, the variable `RESULT_KEY` names the file or has the
    key. A call for which `work` raises fails, and its caller gets the money back. A `work` that is no coroutine runs in
    a thread, and goes on there if its time is over, because Python cannot stop it; its result is then dropped.
    """

    def __init__(
        self,
        work: Callable[..., Any],
        key: str | Path | Signer | None = None,
        *,
        guard: Guard | None = None,
    ) -> None:
        self._work = work
        self._takes_parameters, self._model = _signature_of(work)
        self._is_async = any(map(inspect.iscoroutinefunction, (work, getattr(work, "__call__", None))))
        self._signer: Signer = (
            KeyPair.from_env() if key is None else KeyPair.from_file(key) if isinstance(key, (str, Path)) else key
        )
        self._guard: Guard = MemoryGuard() if guard is None else guard
        #: Runs of this process, so that a repeated request waits for the run itself.
        self._runs: dict[tuple[str, str], asyncio.Task[bytes]] = {}

    @property
    def address(self) -> str:
        """The result key that the listing has to name."""
        return self._signer.address

    async def answer(self, body: bytes) -> tuple[int, bytes]:
        """HTTP status and JSON body for the body of a request. An adapter for another framework needs this alone."""
        received = time.time()
        try:
            request = _request(body)
        except ValueError as error:
            return 400, _json({"error": str(error)})
        try:
            return 200, await self._once(request, received + _limit(request.timeout_seconds))
        except GuardFull:
            return 503, _json({"error": "too many calls run"})

    async def _once(self, request: _Request, until: float) -> bytes:
        call = request.execution_id, request.hash
        if call not in self._runs:
            found = await self._guard.begin(*call, until)
            if isinstance(found, Done):
                return found.answer
            if not isinstance(found, Run):
                return await self._of_another(request, found.until, until)
            # The run is a task of its own: a caller that hangs up does not stop it, and its answer is kept.
            task = self._runs[call] = asyncio.create_task(self._run(request, until))
            task.add_done_callback(lambda _: self._runs.pop(call, None))
        return await asyncio.shield(self._runs[call])

    async def _of_another(self, request: _Request, noted: float, until: float) -> bytes:
        """The answer of a run in another process, or of one that ended with its process. It is never run again."""
        while time.time() < min(noted, until):
            await asyncio.sleep(_ASK_EVERY_S)
            found = await self._guard.begin(request.execution_id, request.hash, until)
            if isinstance(found, Done):
                return found.answer
            if isinstance(found, Run):
                # The guard has forgotten it meanwhile.
                break
        answer = await self._failed(request, "the run of this call was lost")
        return await self._guard.finish(request.execution_id, request.hash, answer)

    async def _run(self, request: _Request, until: float) -> bytes:
        """Works on a call within its time. Whatever happens, the call has an answer afterwards."""
        try:
            output = await asyncio.wait_for(self._call(request), max(until - time.time(), 0.001))
            answer = await self._completed(request, output)
        except Refused as refused:
            answer = await self._failed(request, str(refused))
        except (asyncio.TimeoutError, TimeoutError):
            answer = await self._failed(request, "the time of this call is over")
        except Exception as error:
            # The message may quote the task, so neither the log nor the caller gets it.
            place = error.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            at = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else "?"
            _log.error("execution %s failed: %s at %s", request.execution_id, type(error).__name__, at)
            answer = await self._failed(request, f"the agent failed ({type(error).__name__})")
        return await self._guard.finish(request.execution_id, request.hash, answer)

    async def _call(self, request: _Request) -> Output:
        arguments: list[Any] = [request.task]
        if self._takes_parameters:
            arguments.append(self._parameters(request.parameters))
        if self._is_async:
            returned = await self._work(*arguments)
        else:
            returned = await asyncio.to_thread(self._work, *arguments)
        output = Output(returned) if isinstance(returned, str) else returned
        if not isinstance(output, Output) or not isinstance(output.result, str):
            raise TypeError("the function returns neither a text nor an Output")
        return output

    def _parameters(self, given: dict[str, Any]) -> Any:
        if self._model is None:
            return given
        try:
            return self._model.model_validate(given)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)[0]
            raise Refused(f"parameters: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}") from None

    async def _completed(self, request: _Request, output: Output) -> bytes:
        if len(output.result.encode()) > _MAX_RESULT_BYTES:
            raise Refused("the result has more than 1 MiB")
        hash_text = wire.result_hash(output.result)
        message = wire.call_message(request.record, request.opened_at_unix_s, hash_text)
        answer: dict[str, Any] = {
            "execution_id": request.execution_id,
            "status": "completed",
            "result": output.result,
            "result_hash": hash_text,
            "signature": await self._sign(hash_text.encode()),
            "call_signature": await self._sign(message),
        }
        if output.tokens_used is not None and 0 <= output.tokens_used <= _MAX_TOKENS:
            answer["tokens_used"] = output.tokens_used
        if output.steps is not None and len(_json(output.steps)) <= _MAX_STEPS_BYTES:
            answer["steps"] = output.steps
        return _json(answer)

    async def _failed(self, request: _Request, why: str) -> bytes:
        """A signed failure: it counts against the agent, and not as a broken contract."""
        message = wire.failure_message(request.record, request.opened_at_unix_s)
        answer: dict[str, Any] = {
            "execution_id": request.execution_id,
            "status": "failed",
            "result": None,
            "result_hash": None,
            "signature": None,
            "error": why.encode(errors="replace").decode().strip()[:_MAX_ERROR_CHARS] or "failed",
        }
        try:
            answer["failure_signature"] = await self._sign(message)
        except Exception as error:
            # A call has an answer even if the signer has none.
            _log.error("execution %s: the failure could not be signed: %s", request.execution_id, type(error).__name__)
        return _json(answer)

    async def _sign(self, message: bytes) -> str:
        signature = self._signer.sign(message)
        return wire.signature_text(signature if isinstance(signature, bytes) else await signature)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """ASGI 3: answers `POST` at every path."""
        if scope["type"] == "lifespan":
            return await _lifespan(receive, send)
        if scope["type"] != "http":
            return
        if scope["method"] != "POST":
            # `crtx agent test` reads the key here, to say when another service answers.
            status, body = 405, _json({"error": "POST a call", "result_key": self.address})
        else:
            given = await _body(receive)
            status, body = (
                (413, _json({"error": "the request is too large"})) if given is None else await self.answer(given)
            )
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _signature_of(work: Callable[..., Any]) -> tuple[bool, type[BaseModel] | None]:
    """Whether a function takes parameters, and the model that they have to match. Arguments with a default are not
    given."""
    given = inspect.signature(work).parameters.values()
    names = [
        one.name
        for one in given
        if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    if len(names) not in (1, 2):
        raise TypeError("the function takes the task, or the task and the parameters")
    if len(names) == 1:
        return False, None
    try:
        hint = typing.get_type_hints(work).get(names[1])
    except (NameError, TypeError):
        hint = None
    is_model = isinstance(hint, type) and issubclass(hint, BaseModel)
    return True, hint if is_model else None


def _limit(timeout_seconds: int) -> float:
    """Seconds for the run: a tenth, and at most one second, is left for the answer to arrive."""
    return timeout_seconds - min(timeout_seconds / 10, 1.0)


def _request(body: bytes) -> _Request:
    """Reads a request. Members that this version does not know are skipped."""
    try:
        given = wire.strict_json(body, exact=False)
    except ValueError as error:
        raise ValueError(f"not an execution request: {error}") from None
    parameters = given.get("parameters") or {} if isinstance(given, dict) else None
    if not isinstance(parameters, dict):
        raise ValueError("not an execution request")
    id, task, record = given.get("execution_id"), given.get("task"), given.get("execution_record")
    opened_at, timeout = given.get("opened_at_unix_s"), given.get("timeout_seconds")
    try:
        if not (isinstance(id, str) and isinstance(task, str) and isinstance(record, str)):
            raise ValueError
        if type(opened_at) is not int or type(timeout) is not int or not 1 <= timeout <= _MAX_TIMEOUT_S:
            raise ValueError
        if not -(2**63) <= opened_at < 2**63 or str(UUID(id)) != id:
            raise ValueError
        address = wire.address_bytes(record)
        call = json.dumps([id, record, opened_at, task, parameters], sort_keys=True).encode()
    except (ValueError, TypeError):
        raise ValueError("not an execution request") from None
    return _Request(id, task, parameters, timeout, address, opened_at, hashlib.sha256(call).hexdigest())


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None if it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_REQUEST_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
