"""Buyers behind a bad network, on a real marketplace: no call is charged twice, and no result is lost.

`CRTX_FAULT_CALLS=10000` makes more calls, and `CRTX_FAULT_SEED` others.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import Market
from crtx import AsyncClient, Client, OutcomeUnknown, Result
from support import CUT, PACKAGE, Answer, Request, error, forward, serving

CALLS = int(os.environ.get("CRTX_FAULT_CALLS", "40"))
SEED = int(os.environ.get("CRTX_FAULT_SEED", "1"))
AT_ONCE = 8


class BadNetwork:
    """Between a client and the service. What it does is random, and counted by name."""

    def __init__(self, base_url: str, seed: int) -> None:
        self.base_url = base_url
        self.choose = random.Random(seed)
        self.lock = threading.Lock()
        self.done: Counter[str] = Counter()

    def __call__(self, request: Request) -> Answer:
        with self.lock:
            fault = self.choose.choice(["none", "none", "none", *FAULTS])
            at = self.choose.random()
            self.done[fault] += 1
        if fault == "cut before":
            return CUT
        if fault == "429":
            return error("rate_limited", 429, retry_after="0")
        if fault == "503":
            return error("unavailable", 503, retry_after="0")
        if fault == "409":
            return error("conflict", 409, retry_after="0")
        answer = forward(request, self.base_url)
        if fault == "cut after":
            return CUT
        if fault == "cut during":
            answer.cut_after = int(len(answer.bytes()) * at)
        elif fault == "502 of a proxy":
            return Answer(502, b"<html></html>")
        elif fault == "slow":
            answer.drip = 0.005
        elif fault == "202" and request.method == "POST" and answer.status == 200:
            assert isinstance(answer.body, bytes)
            return Answer(202, {"execution_id": json.loads(answer.body)["execution_id"], "status": "running"})
        return answer


FAULTS = ("cut before", "cut during", "cut after", "202", "409", "429", "503", "502 of a proxy", "slow")


def insist(client: Client, agent_id: str, task: str) -> Result:
    """One call by a caller that repeats an unknown outcome with the key of the error, as often as it takes."""
    key: str | None = None
    while True:
        try:
            return client.execute(agent_id, task, idempotency_key=key)
        except OutcomeUnknown as unknown:
            assert key in (None, unknown.idempotency_key)
            key = unknown.idempotency_key
        except Exception as refused:
            # Nothing was charged: it is the same call, so it keeps its key.
            key = getattr(refused, "idempotency_key", None)
            assert type(refused).__name__ in ("RateLimited", "ServiceUnavailable", "ConnectionFailed"), repr(refused)


@pytest.mark.usefixtures("no_pauses")
def test_random_faults_charge_nothing_twice_and_lose_no_result(market: Market) -> None:
    before, ran = market.up.usdc_of(market.buyer), len(market.runs())
    tasks = [f"<p>call {SEED}-{number}-{time.time_ns()}</p>" for number in range(CALLS)]
    network = BadNetwork(market.url, SEED)
    with serving(network) as proxy, Client(proxy.url, market.api_key, rpc_url=market.up.info["rpc_url"]) as client:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            results = list(threads.map(lambda task: insist(client, market.agent_id, task), tasks))
    assert [f"<p>{result.result}</p>" for result in results] == tasks, "each caller has the result of its own task"
    assert len({result.execution_id for result in results}) == CALLS
    assert market.up.usdc_of(market.buyer) == before - CALLS * market.price, "charged once for each, on chain"
    with Client(market.url, market.api_key) as client:
        own = {str(result.execution_id) for result in results}
        found: list[str] = []
        cursor: str | None = None
        while len(found) < CALLS:
            page = client.list(agent_id=market.agent_id, limit=100, cursor=cursor)
            found += [str(one.execution_id) for one in page.executions]
            cursor = page.next_cursor
        assert own == set(found[:CALLS]), "no other execution was opened meanwhile"
    runs = Counter(market.runs()[ran:])
    assert set(runs.values()) == {1} and len(runs) == CALLS, "the seller worked once on each"
    if CALLS >= 40:
        assert set(network.done) == {"none", *FAULTS}, "every fault happened"
    print(f"{CALLS} calls, {sum(network.done.values())} requests: {dict(network.done)}", file=sys.stderr)


BUYER = """
import sys
from crtx import Client
url, node, key, agent, task = sys.argv[1:]
print(Client(url, key, rpc_url=node).execute(agent, task, idempotency_key="order-7").result)
"""


@pytest.mark.parametrize("cut_after", [0, 120], ids=["without an answer", "within the answer"])
def test_a_process_that_is_killed_between_retries_goes_on_with_its_key(market: Market, cut_after: int) -> None:
    before, ran = market.up.usdc_of(market.buyer), len(market.runs())
    task = f"<p>killed {cut_after} {time.time_ns()}</p>"
    buyer = BUYER.replace("order-7", f"order-{time.time_ns()}")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "src")}
    cut = threading.Event()

    def lose(request: Request) -> Answer:
        answer = forward(request, market.url)
        answer.cut_after = cut_after
        cut.set()
        return answer

    def command(url: str) -> list[str]:
        return [sys.executable, "-c", buyer, url, market.up.info["rpc_url"], market.api_key, market.agent_id, task]

    with serving(lose) as proxy:
        first = subprocess.Popen(command(proxy.url), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert cut.wait(60)
        first.kill()
        assert first.communicate()[0] == b"", "it died before it had a result"
    again = subprocess.run(command(market.url), env=environment, capture_output=True, text=True, check=True)
    assert f"<p>{again.stdout.strip()}</p>" == task
    assert market.up.usdc_of(market.buyer) == before - market.price
    assert market.runs()[ran:] == [hashlib.sha256(task.encode()).hexdigest()]


@pytest.mark.usefixtures("no_pauses")
def test_a_cancelled_coroutine_leaves_a_call_that_its_key_finishes(market: Market) -> None:
    before = market.up.usdc_of(market.buyer)
    task, key = f"<p>cancelled {time.time_ns()}</p>", f"cancelled-{time.time_ns()}"

    async def run() -> Result:
        async with AsyncClient(market.url, market.api_key) as client:
            first = asyncio.create_task(client.execute(market.agent_id, task, idempotency_key=key))
            await asyncio.sleep(0.05)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            return await client.execute(market.agent_id, task, idempotency_key=key)

    assert f"<p>{asyncio.run(run()).result}</p>" == task
    assert market.up.usdc_of(market.buyer) == before - market.price
