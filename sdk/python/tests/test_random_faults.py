"""Buyers behind a bad network whose processes are killed, on a real marketplace: no call is charged twice, and no result is lost.

`CRTX_FAULT_CALLS=10000` makes more calls, and `CRTX_FAULT_SEED` others.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
from conftest import Market
from crtx import AsyncClient, Client, Result
from support import CUT, PACKAGE, Answer, Request, error, forward, serving

CALLS = int(os.environ.get("CRTX_FAULT_CALLS", "40"))
SEED = int(os.environ.get("CRTX_FAULT_SEED", "1"))
AT_ONCE = 8
#: So often a buyer's process is killed.
KILLS = max(2, CALLS // 100)


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


def test_random_faults_and_kills_charge_nothing_twice_and_lose_no_result(market: Market) -> None:
    before, ran = market.up.usdc_of(market.buyer), len(market.runs())
    # The time makes the keys of each run new.
    tasks = {f"{SEED}-{number}-{time.time_ns()}": f"<p>call {SEED}-{number}</p>" for number in range(CALLS)}
    network, choose, kills = BadNetwork(market.url, SEED), random.Random(SEED), 0
    results: dict[str, dict[str, str]] = {}
    command = [sys.executable, str(PACKAGE / "tests" / "random_buyer.py")]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "src"), "CRTX_API_KEY": market.api_key}
    with serving(network) as proxy:
        command += [proxy.url, market.up.info["rpc_url"], market.agent_id, str(AT_ONCE)]
        while len(results) < CALLS:
            child = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert child.stdin and child.stdout
            json.dump([call for call in tasks.items() if call[0] not in results], child.stdin)
            child.stdin.close()
            last = choose.randint(1, 2 * CALLS // KILLS) if kills < KILLS else CALLS
            for got, line in enumerate(child.stdout, 1):
                result = json.loads(line)
                assert "error" not in result, result
                results[result.pop("key")] = result
                if got == last and len(results) < CALLS:
                    # The calls that are under way have no result yet; the next process has their keys.
                    child.kill()
                    kills += 1
                    print(f"{len(results)} of {CALLS} calls, {kills} kills", file=sys.stderr)
            assert child.wait() in (0, -signal.SIGKILL)
    assert {key: f"<p>{result['result']}</p>" for key, result in results.items()} == tasks, "each has its own result"
    own = {result["execution_id"] for result in results.values()}
    assert len(own) == CALLS and kills > 0
    assert market.up.usdc_of(market.buyer) == before - CALLS * market.price, "charged once for each, on chain"
    with Client(market.url, market.api_key) as client:
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
    requests = sum(network.done.values())
    print(f"{CALLS} calls, {kills} kills, {requests} requests: {dict(network.done)}", file=sys.stderr)


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
