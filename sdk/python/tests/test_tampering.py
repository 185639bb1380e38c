"""Answers and chain are recorded once from a real call, and played again with one change: each change is refused."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from conftest import Market
from crtx import Client, NotVerified, VerificationFailed, wire
from test_market import ALL_CHECKS

pytestmark = pytest.mark.usefixtures("no_pauses")

KEY, TASK = "tamper-1", "<p>tamper with this</p>"
#: By name: a change of what is played, and the checks that may find it.
Tamper = Callable[[random.Random, dict[str, Any]], None]


class Recorder(httpx.BaseTransport):
    """Keeps what service and node answered, by method."""

    def __init__(self) -> None:
        self.inner = httpx.HTTPTransport()
        self.kept: dict[str, Any] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.inner.handle_request(request)
        response.read()
        name = name_of(request)
        if name == "getTransaction" and name in self.kept:
            name += "2"
        self.kept[name] = response.json()
        return response


class Player(httpx.BaseTransport):
    """Answers as it was recorded."""

    def __init__(self, kept: dict[str, Any]) -> None:
        self.kept = kept

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=json.dumps(self.kept[name_of(request)]).encode())


def name_of(request: httpx.Request) -> str:
    if request.url.path.endswith("/execute"):
        return "execute"
    if request.url.path == "/v1/network":
        return "network"
    if request.url.path.startswith("/v1/executions/"):
        return "execution"
    asked = json.loads(request.content)
    several = asked["method"] == "getMultipleAccounts" and len(asked["params"][0]) > 1
    return "record" if several else str(asked["method"])


@pytest.fixture(scope="module")
def recorded(market: Market) -> tuple[Market, dict[str, Any]]:
    recorder = Recorder()
    with Client(market.url, market.api_key, transport=recorder) as client:
        client.execute(market.agent_id, TASK, idempotency_key=KEY)
        assert "getTransaction2" not in recorder.kept, "the transaction next to the end is the ending one"
        client.get(recorder.kept["execute"]["execution_id"])
    return market, recorder.kept


def play(market: Market, kept: dict[str, Any]) -> tuple[str, ...]:
    with Client(market.url, market.api_key, transport=Player(kept)) as client:
        return client.execute(market.agent_id, TASK, idempotency_key=KEY).checks


def flip(choose: random.Random, data: bytes, start: int, end: int) -> bytes:
    """One bit of these bytes is another one."""
    at = choose.randrange(start, end)
    return data[:at] + bytes([data[at] ^ 1 << choose.randrange(8)]) + data[at + 1 :]


def account(kept: dict[str, Any], name: str, at: int, start: int, end: int, choose: random.Random) -> None:
    value = kept[name]["result"]["value"][at]
    value["data"][0] = base64.b64encode(flip(choose, base64.b64decode(value["data"][0]), start, end)).decode()


def instruction(kept: dict[str, Any], start: int, end: int, choose: random.Random) -> None:
    """Changes the proof of the signature."""
    transaction = kept["getTransaction"]["result"]["transaction"]
    data = base64.b64decode(transaction[0])
    # Where the proof begins: count, padding, and the offset of the signature.
    at = data.index(bytes([1, 0, 48, 0, 255, 255, 16, 0]))
    transaction[0] = base64.b64encode(flip(choose, data, at + start, at + end)).decode()


def result(choose: random.Random, kept: dict[str, Any]) -> None:
    text = kept["execute"]["result"]
    at = choose.randrange(len(text))
    kept["execute"]["result"] = text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]


def result_and_hash(choose: random.Random, kept: dict[str, Any]) -> None:
    result(choose, kept)
    forged = wire.result_hash(kept["execute"]["result"])
    kept["execute"]["result_hash"] = forged
    kept["execute"]["ipfs_url"] = f"https://a.example/ipfs/{wire.cid(forged)}"


def content_address(choose: random.Random, kept: dict[str, Any]) -> None:
    kept["execute"]["ipfs_url"] = f"https://a.example/ipfs/{wire.cid(wire.result_hash(choose.randbytes(8)))}"


def record_link(choose: random.Random, kept: dict[str, Any]) -> None:
    kept["execute"]["on_chain_record"] = "https://e.example/address/" + wire.base58(choose.randbytes(32))


def execution_id(choose: random.Random, kept: dict[str, Any]) -> None:
    digits = kept["execute"]["execution_id"]
    at = choose.choice([at for at, digit in enumerate(digits) if digit not in "-"])
    kept["execute"]["execution_id"] = digits[:at] + format(int(digits[at], 16) ^ 1, "x") + digits[at + 1 :]


def cost(choose: random.Random, kept: dict[str, Any]) -> None:
    kept["execute"]["cost_usdc"] = choose.randrange(10_001, 20_000) / 1e6


def transfer(choose: random.Random, kept: dict[str, Any]) -> None:
    """A part of the split is another amount."""
    inner = kept["getTransaction"]["result"]["meta"]["innerInstructions"][0]["instructions"]
    moved = choose.choice(inner)
    moved["data"] = wire.base58(flip(choose, wire.base58_decode(moved["data"]), 1, 9))


def owner(choose: random.Random, kept: dict[str, Any]) -> None:
    """The payee is an account of somebody else."""
    for balance in kept["getTransaction"]["result"]["meta"]["postTokenBalances"]:
        balance["owner"] = wire.base58(choose.randbytes(32))


def program(choose: random.Random, kept: dict[str, Any]) -> None:
    """The record belongs to another program."""
    kept["record"]["result"]["value"][0]["owner"] = wire.base58(choose.randbytes(32))


TAMPERINGS: dict[str, tuple[Tamper, set[str]]] = {
    "result": (result, {"result"}),
    "result and hash": (result_and_hash, {"commitment"}),
    "address": (content_address, {"address"}),
    "link": (record_link, {"identity"}),
    "execution id": (execution_id, {"identity"}),
    "cost": (cost, {"amounts"}),
    "transfer": (transfer, {"payment"}),
    "owner": (owner, {"payment"}),
    "program": (program, {"record"}),
    "signature": (lambda choose, kept: instruction(kept, 48, 112, choose), {"signature"}),
    "signing key": (lambda choose, kept: instruction(kept, 16, 48, choose), {"signature"}),
    "signed message": (lambda choose, kept: instruction(kept, 112, 238, choose), {"message"}),
    "proof": (lambda choose, kept: instruction(kept, 0, 16, choose), {"gate"}),
    "record's agent and caller": (lambda choose, kept: account(kept, "record", 0, 8, 72, choose), {"identity"}),
    "record's hash": (lambda choose, kept: account(kept, "record", 0, 104, 136, choose), {"commitment"}),
    "record's id": (lambda choose, kept: account(kept, "record", 0, 136, 152, choose), {"identity"}),
    "record's amount": (lambda choose, kept: account(kept, "record", 0, 160, 166, choose), {"payment", "split"}),
    "record's opening": (lambda choose, kept: account(kept, "record", 0, 168, 176, choose), {"message"}),
    "record's fee": (lambda choose, kept: account(kept, "record", 0, 196, 198, choose), {"split", "payment"}),
    "listed key": (lambda choose, kept: account(kept, "getMultipleAccounts", 0, 40, 72, choose), {"listing"}),
}


def test_the_untouched_recording_passes_every_check(recorded: tuple[Market, dict[str, Any]]) -> None:
    market, kept = recorded
    assert play(market, kept) == ALL_CHECKS


@pytest.mark.parametrize("seed", range(100))
def test_a_tampering_is_refused_by_the_check_it_breaks(recorded: tuple[Market, dict[str, Any]], seed: int) -> None:
    market, kept = recorded
    choose = random.Random(seed)
    name = list(TAMPERINGS)[seed % len(TAMPERINGS)]
    tamper, checks = TAMPERINGS[name]
    kept = json.loads(json.dumps(kept))
    tamper(choose, kept)
    with pytest.raises(VerificationFailed) as refused:
        play(market, kept)
    assert refused.value.check in checks, f"{name}: {refused.value}"
    assert refused.value.idempotency_key == KEY and refused.value.refused is not None


STATED: dict[str, tuple[object, set[str]]] = {
    "result": ("another", {"result"}),
    "result_hash": ("sha256:" + "0" * 64, {"result"}),
    "agent_id": (wire.base58(bytes(range(32))), {"identity"}),
    "status": ("disputed", set()),
    "cost_usdc": (0.02, {"amounts"}),
    "creator_amount_usdc": (0.01, {"amounts"}),
    "platform_amount_usdc": (0.0002, {"amounts"}),
    "execution_time_ms": (123_456, {"amounts"}),
    "tokens_used": (1, {"amounts"}),
    "ipfs_url": ("https://a.example/ipfs/x", {"address"}),
    "on_chain_record": ("https://e.example/address/" + wire.base58(bytes(range(32))), {"identity"}),
}


@pytest.mark.parametrize("member", STATED)
def test_what_an_execution_states_is_compared_with_the_chain(
    recorded: tuple[Market, dict[str, Any]], member: str
) -> None:
    market, kept = recorded
    value, checks = STATED[member]
    kept = {**kept, "execution": {**kept["execution"], member: value}}
    with Client(market.url, market.api_key, transport=Player(kept)) as client:
        if not checks:
            # A dispute is shown before the node has it, or after.
            client.get(kept["execute"]["execution_id"])
            return
        with pytest.raises(VerificationFailed) as refused:
            client.get(kept["execute"]["execution_id"])
    assert refused.value.check in checks


def test_a_node_that_answers_nonsense_verifies_nothing_and_loses_nothing(
    recorded: tuple[Market, dict[str, Any]],
) -> None:
    market, kept = recorded
    for method, answer in {
        "record": {"error": {"code": -32005, "message": "behind"}},
        "getSignaturesForAddress": {"result": [1]},
        "getTransaction": {"result": {"transaction": ["AQ==", "base64"], "meta": {"err": None}}},
        "getMultipleAccounts": {"result": {"value": [{"owner": 1, "data": ["/"]}]}},
    }.items():
        with pytest.raises(NotVerified) as unverified:
            play(market, {**kept, method: answer})
        assert unverified.value.result is not None and unverified.value.result.result == "tamper with this", method


def test_what_cannot_be_verified_is_not_paid_for(recorded: tuple[Market, dict[str, Any]]) -> None:
    market, kept = recorded
    kept = {**kept, "network": {**kept["network"], "rpc_url": None}}
    del kept["execute"]
    with pytest.raises(NotVerified, match="rpc_url"):
        play(market, kept)
