"""Clients for buyers: `Client` blocks, `AsyncClient` is for asyncio and trio. Both carry out the same flows."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

import anyio
import httpx

from . import models
from ._core import Core
from ._flow import MAX_ANSWER_BYTES, Broken, Effect, Flow, Pause, Reply, Send
from ._verify import PROGRAM_ID
from .results import Result, Started, Verification

T = TypeVar("T")

#: Seconds that `events` waits at the service for the next one.
_EVENT_WAIT_S = 25


def _time_left(send: Send) -> httpx.Timeout:
    left = max(send.deadline - time.monotonic(), 0.001)
    return httpx.Timeout(left, connect=min(left, 10.0))


def _broken(error: Exception) -> Broken:
    """What went wrong. Only a connection that was never made proves that nothing arrived."""
    unsent = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
    return Broken(not unsent, f"{type(error).__name__}: {error}")


class _Body:
    """Collects an answer: bounded, and in time, however slowly its bytes come."""

    def __init__(self, send: Send) -> None:
        self.deadline = send.deadline
        self.bytes = bytearray()

    def add(self, chunk: bytes) -> None:
        self.bytes += chunk
        if len(self.bytes) > MAX_ANSWER_BYTES:
            raise httpx.ReadError(f"the answer has more than {MAX_ANSWER_BYTES} bytes")
        if time.monotonic() > self.deadline:
            raise httpx.ReadTimeout("the answer takes too long")

    def reply(self, response: httpx.Response) -> Reply:
        return Reply(
            response.status_code, {name.lower(): value for name, value in response.headers.items()}, bytes(self.bytes)
        )


def _query(**given: Any) -> dict[str, Any]:
    return given


class Client:
    """Buys from agents.

    `base_url` and `api_key` default to the variables `CRTX_URL` and `CRTX_API_KEY`. `rpc_url` (`CRTX_RPC_URL`) is a
    Solana node that you trust; without it, results are checked against the node that the service names. `timeout` is
    what a whole call may take, in seconds. `attempt_timeout` is what one request may take before it is repeated.
    """

    def __init__(
        self,
        base_url: str = "",
        api_key: str | None = None,
        *,
        rpc_url: str | None = None,
        program_id: str = PROGRAM_ID,
        verify: bool = True,
        timeout: float = 300.0,
        max_retries: int = 2,
        attempt_timeout: float = 60.0,
        max_retry_after: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._core = Core(
            base_url, api_key, rpc_url, program_id, verify, timeout, max_retries, attempt_timeout, max_retry_after
        )
        self._http = httpx.Client(transport=transport)
        self.agents = Agents(self)

    def execute(
        self,
        agent_id: str,
        task: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        verify: bool | None = None,
    ) -> Result:
        """One paid call. A caller that may crash chooses the idempotency key itself and keeps it."""
        return self._run(self._core.execute(agent_id, task, parameters, idempotency_key, timeout, verify))

    def start(
        self,
        agent_id: str,
        task: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Started:
        """Begins a paid call, and returns when its escrow is confirmed."""
        return self._run(self._core.start(agent_id, task, parameters, idempotency_key, timeout))

    def wait(
        self, started: Started | UUID | str, *, timeout: float | None = None, verify: bool | None = None
    ) -> Result:
        """The result of a call that was started."""
        return self._run(self._core.wait(started, timeout, verify))

    def get(self, execution_id: UUID | str, *, verify: bool | None = None) -> models.ExecutionResponse:
        """An execution. If it has a result, the result is verified."""
        return self._run(self._core.get(execution_id, verify))

    def list(
        self,
        *,
        status: str | None = None,
        agent_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> models.ExecutionListResponse:
        """A page of the wallet's executions, newest first."""
        query = _query(status=status, agent_id=agent_id, limit=limit, cursor=cursor)
        return self._run(self._core.read(models.ExecutionListResponse, "/v1/executions", query))

    def events(self, *, after: int = 0, types: Sequence[str] | None = None) -> Iterator[models.Event]:
        """The events of the wallet after a number, oldest first, and then each one as it happens. It does not end."""
        while True:
            query = _query(after=after, types=types, wait=_EVENT_WAIT_S)
            page = self._run(self._core.read(models.EventListResponse, "/v1/events", query))
            yield from page.events
            after = page.next_after

    def verify(self, execution_id: UUID | str, *, timeout: float | None = None) -> Verification:
        """Checks an execution of the wallet, a refund too."""
        return self._run(self._core.verify_execution(execution_id, timeout))

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, flow: Flow[T]) -> T:
        answer: Reply | Broken | None = None
        while True:
            try:
                effect = flow.send(answer)
            except StopIteration as end:
                value: T = end.value
                return value
            answer = self._perform(effect)

    def _perform(self, effect: Effect) -> Reply | Broken | None:
        if isinstance(effect, Pause):
            time.sleep(effect.seconds)
            return None
        body, timeout = _Body(effect), _time_left(effect)
        try:
            with self._http.stream(
                effect.method, effect.url, headers=dict(effect.headers), content=effect.body, timeout=timeout
            ) as response:
                for chunk in response.iter_bytes():
                    body.add(chunk)
                return body.reply(response)
        except (httpx.TransportError, httpx.DecodingError) as error:
            return _broken(error)


class Agents:
    """The agents of the marketplace."""

    def __init__(self, client: Client) -> None:
        self._client = client

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
    ) -> models.AgentListResponse:
        """A page of the agents that match."""
        query = _query(
            q=q, tags=tags, max_price=max_price, verified_only=verified_only, sort=sort, limit=limit, cursor=cursor
        )
        return self._client._run(self._client._core.read(models.AgentListResponse, "/v1/agents", query))

    def get(self, agent_id: str) -> models.AgentResponse:
        """The full listing of an agent."""
        return self._client._run(self._client._core.read(models.AgentResponse, f"/v1/agents/{agent_id}"))


class AsyncClient:
    """`Client` for asyncio and trio: the same methods, to be awaited."""

    def __init__(
        self,
        base_url: str = "",
        api_key: str | None = None,
        *,
        rpc_url: str | None = None,
        program_id: str = PROGRAM_ID,
        verify: bool = True,
        timeout: float = 300.0,
        max_retries: int = 2,
        attempt_timeout: float = 60.0,
        max_retry_after: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._core = Core(
            base_url, api_key, rpc_url, program_id, verify, timeout, max_retries, attempt_timeout, max_retry_after
        )
        self._http = httpx.AsyncClient(transport=transport)
        self.agents = AsyncAgents(self)

    async def execute(
        self,
        agent_id: str,
        task: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        verify: bool | None = None,
    ) -> Result:
        """As `Client.execute`."""
        return await self._run(self._core.execute(agent_id, task, parameters, idempotency_key, timeout, verify))

    async def start(
        self,
        agent_id: str,
        task: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Started:
        """As `Client.start`."""
        return await self._run(self._core.start(agent_id, task, parameters, idempotency_key, timeout))

    async def wait(
        self, started: Started | UUID | str, *, timeout: float | None = None, verify: bool | None = None
    ) -> Result:
        """As `Client.wait`."""
        return await self._run(self._core.wait(started, timeout, verify))

    async def get(self, execution_id: UUID | str, *, verify: bool | None = None) -> models.ExecutionResponse:
        """As `Client.get`."""
        return await self._run(self._core.get(execution_id, verify))

    async def list(
        self,
        *,
        status: str | None = None,
        agent_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> models.ExecutionListResponse:
        """As `Client.list`."""
        query = _query(status=status, agent_id=agent_id, limit=limit, cursor=cursor)
        return await self._run(self._core.read(models.ExecutionListResponse, "/v1/executions", query))

    async def events(self, *, after: int = 0, types: Sequence[str] | None = None) -> AsyncIterator[models.Event]:
        """As `Client.events`."""
        while True:
            query = _query(after=after, types=types, wait=_EVENT_WAIT_S)
            page = await self._run(self._core.read(models.EventListResponse, "/v1/events", query))
            for event in page.events:
                yield event
            after = page.next_after

    async def verify(self, execution_id: UUID | str, *, timeout: float | None = None) -> Verification:
        """As `Client.verify`."""
        return await self._run(self._core.verify_execution(execution_id, timeout))

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, flow: Flow[T]) -> T:
        answer: Reply | Broken | None = None
        while True:
            try:
                effect = flow.send(answer)
            except StopIteration as end:
                value: T = end.value
                return value
            answer = await self._perform(effect)

    async def _perform(self, effect: Effect) -> Reply | Broken | None:
        if isinstance(effect, Pause):
            await anyio.sleep(effect.seconds)
            return None
        body, timeout = _Body(effect), _time_left(effect)
        try:
            async with self._http.stream(
                effect.method, effect.url, headers=dict(effect.headers), content=effect.body, timeout=timeout
            ) as response:
                async for chunk in response.aiter_bytes():
                    body.add(chunk)
                return body.reply(response)
        except (httpx.TransportError, httpx.DecodingError) as error:
            return _broken(error)


class AsyncAgents:
    """The agents of the marketplace."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def search(
        self,
        q: str | None = None,
        *,
        tags: Sequence[str] | None = None,
        max_price: str | None = None,
        verified_only: bool | None = None,
        sort: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> models.AgentListResponse:
        """As `Agents.search`."""
        query = _query(
            q=q, tags=tags, max_price=max_price, verified_only=verified_only, sort=sort, limit=limit, cursor=cursor
        )
        return await self._client._run(self._client._core.read(models.AgentListResponse, "/v1/agents", query))

    async def get(self, agent_id: str) -> models.AgentResponse:
        """As `Agents.get`."""
        return await self._client._run(self._client._core.read(models.AgentResponse, f"/v1/agents/{agent_id}"))
