"""Clients for buyers: `Client` blocks, `AsyncClient` is for asyncio and trio. Both carry out the flows of `Core`."""

from __future__ import annotations

import functools
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import anyio
import httpx

from . import models
from ._core import Core
from ._flow import MAX_ANSWER_BYTES, Broken, Effect, Flow, Pause, Reply, Send
from ._verify import PROGRAM_ID

T = TypeVar("T")
P = ParamSpec("P")


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
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status_code, headers, bytes(self.bytes))


def _blocking(flow: Callable[Concatenate[Core, P], Flow[T]]) -> Callable[Concatenate[Any, P], T]:
    """A method that carries a flow out. Its arguments and its description are those of the flow."""

    @functools.wraps(flow)
    def method(self: Any, /, *arguments: P.args, **named: P.kwargs) -> T:
        client: Client = self._client
        return client._run(flow(client._core, *arguments, **named))

    return method


def _awaited(flow: Callable[Concatenate[Core, P], Flow[T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The same, to be awaited."""

    @functools.wraps(flow)
    async def method(self: Any, /, *arguments: P.args, **named: P.kwargs) -> T:
        client: AsyncClient = self._client
        return await client._run(flow(client._core, *arguments, **named))

    return method


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
        self._client = self
        self.agents = Agents(self)

    execute = _blocking(Core.execute)
    start = _blocking(Core.start)
    wait = _blocking(Core.wait)
    get = _blocking(Core.get)
    list = _blocking(Core.list)
    verify = _blocking(Core.check)

    def events(self, *, after: int = 0, types: Sequence[str] | None = None) -> Iterator[models.Event]:
        """The events of the wallet after a number, oldest first, and then each one as it happens. It does not end."""
        while True:
            page = self._run(self._core.events(after, types))
            yield from page.events
            after = page.next_after

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

    search = _blocking(Core.search)
    get = _blocking(Core.agent)


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
        self._client = self
        self.agents = AsyncAgents(self)

    execute = _awaited(Core.execute)
    start = _awaited(Core.start)
    wait = _awaited(Core.wait)
    get = _awaited(Core.get)
    list = _awaited(Core.list)
    verify = _awaited(Core.check)

    async def events(self, *, after: int = 0, types: Sequence[str] | None = None) -> AsyncIterator[models.Event]:
        """The events of the wallet after a number, oldest first, and then each one as it happens. It does not end."""
        while True:
            page = await self._run(self._core.events(after, types))
            for event in page.events:
                yield event
            after = page.next_after

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

    search = _awaited(Core.search)
    get = _awaited(Core.agent)
