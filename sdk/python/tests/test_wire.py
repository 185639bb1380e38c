"""The wire contract, by the vectors that `crates/protocol` writes."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from crtx import Agent, KeyPair, Output, Refused, _transaction, _verify, wire
from nacl.signing import SigningKey
from support import REPOSITORY

VECTORS = REPOSITORY / "tests" / "vectors"
WIRE: dict[str, Any] = json.loads((VECTORS / "wire.json").read_text())


def opening_of(case: Any) -> tuple[bytes, int]:
    return wire.address_bytes(case["opening"]["record"]), int(case["opening"]["opened_at_unix_s"])


def message(case: Any) -> bytes:
    if case["kind"] == "result":
        return bytes(case["result_hash"].encode())
    if case["kind"] == "failure":
        return wire.failure_message(*opening_of(case))
    return wire.call_message(*opening_of(case), case["result_hash"])


def api_key(case: Any) -> Any:
    key = wire.session_key(case["api_key"])
    proof = key.sign(f"crtx-key-v1:{case['wallet']}:{case['program']}".encode()).signature
    return {
        "last_four": case["api_key"][-4:],
        "prefix": case["api_key"][:10],
        "proof": wire.signature_text(proof),
        "session_public_key": wire.base58(bytes(key.verify_key)),
        "session_seed_hex": bytes(key).hex(),
    }


def amount(case: Any) -> Any:
    if "json" in case:
        return {"base_units": str(wire.usdc_of_number(wire.strict_json(case["json"].encode())))}
    if "text" in case:
        return {"base_units": str(wire.usdc_base(case["text"]))}
    text = wire.usdc_text(int(case["base_units"]))
    return {name: text for name in case["expect"]}


def request(case: Any) -> Any:
    given = wire.strict_json(case["request"].encode())
    parameters = given.get("parameters") or {}
    canonical = wire.canonical({"parameters": parameters, "task": given["task"]})
    return {"canonical": canonical.decode(), "request_hash_hex": wire.request_hash(given["task"], parameters).hex()}


def result(case: Any) -> Any:
    text = wire.result_hash(case["result"])
    return {"cid": wire.cid(text), "result_hash": text, "uri": f"ipfs://{wire.cid(text)}"}


def proof(case: Any) -> Any:
    key, text = wire.address_bytes(case["result_key"]), case["result_hash"]
    holds = wire.is_signed_by(key, text.encode(), wire.signature_bytes(case["signature"]))
    if case["opening"] is not None:
        bound = case["call_signature"] is not None and wire.signature_bytes(case["call_signature"])
        holds = (
            holds and bool(bound) and wire.is_signed_by(key, wire.call_message(*opening_of(case), text), bound or b"")
        )
    return holds or refuse("a signature does not verify")


def failure_proof(case: Any) -> Any:
    signature = wire.signature_bytes(case["failure_signature"])
    message = wire.failure_message(*opening_of(case))
    return wire.is_signed_by(wire.address_bytes(case["result_key"]), message, signature) or refuse("not signed")


def refuse(why: str) -> Any:
    raise wire.WireError(why)


def signed(case: Any) -> Any:
    key = SigningKey(bytes.fromhex(case["seed_hex"]))
    assert wire.base58(bytes(key.verify_key)) == case["result_key"]
    return {"message_hex": message(case).hex(), "signature": wire.signature_text(key.sign(message(case)).signature)}


def seller(case: Any) -> Any:
    """What an `Agent` answers; nulls may be left out."""

    def work(task: str) -> Output:
        if "error" in case:
            raise Refused(case["error"])
        return Output(case["result"], case.get("tokens_used"), case.get("steps"))

    asked = {
        "execution_id": case["execution_id"],
        "task": "t",
        "parameters": {},
        "timeout_seconds": 60,
        "execution_record": case["execution_record"],
        "opened_at_unix_s": int(case["opened_at_unix_s"]),
        "user_pubkey": case["execution_record"],
    }
    agent = Agent(work, KeyPair(SigningKey(bytes.fromhex(case["seed_hex"]))))
    status, body = asyncio.run(agent.answer(json.dumps(asked).encode()))
    assert status == 200
    return {**{name: None for name, value in case["expect"].items() if value is None}, **json.loads(body)}


SECTIONS: dict[str, Callable[[Any], Any]] = {
    "addresses": lambda case: {"bytes_hex": wire.address_bytes(case["text"]).hex()},
    "amounts": amount,
    "api_keys": api_key,
    "cids": lambda case: {"hash_hex": wire.cid_hash(case["cid"])[7:]},
    "execution_ids": lambda case: {"execution_id": str(wire.execution_id(case["wallet"], case["idempotency_key"]))},
    "failure_proofs": failure_proof,
    "hash_texts": lambda case: {"hash_hex": wire.hash_bytes(case["text"]).hex()},
    "request_hashes": request,
    "result_hashes": result,
    "result_proofs": proof,
    "seller_answers": seller,
    "signature_texts": lambda case: {"signature_hex": wire.signature_bytes(case["text"]).hex()},
    "signed_messages": signed,
    "splits": lambda case: wire.fee_split(int(case["amount"]), case["fee_bps"]),
}
#: `answers` is what the service reads from sellers; neither side of this library does.
NOT_READ = {"about", "answers"}
CASES = [(section, case) for section in SECTIONS for case in WIRE[section]["cases"]]


def test_every_section_is_run() -> None:
    assert set(WIRE) == set(SECTIONS) | NOT_READ


@pytest.mark.parametrize(("section", "case"), CASES, ids=[f"{section}: {case['name']}" for section, case in CASES])
def test_the_contract_is_kept(section: str, case: Any) -> None:
    if "refused" in case:
        with pytest.raises(ValueError):
            SECTIONS[section](case)
    else:
        assert SECTIONS[section](case) == case["expect"]


def test_numbers_are_taken_or_refused_as_everywhere() -> None:
    numbers = json.loads((VECTORS / "numbers.json").read_text())
    for number in numbers["exact"]:
        wire.request_hash("t", wire.strict_json(f'{{"a":{number}}}'.encode()))
    for number in numbers["changed"]:
        with pytest.raises(wire.WireError):
            wire.request_hash("t", wire.strict_json(f'{{"a":{number}}}'.encode()))


def test_fees_are_split_as_on_chain() -> None:
    for case in json.loads((VECTORS / "fees.json").read_text()):
        parts = wire.fee_split(int(case["amount"]), case["fee_bps"])
        assert parts == (int(case["creator"]), int(case["platform"]))


def test_addresses_are_derived_as_on_chain() -> None:
    given = json.loads((VECTORS / "addresses.json").read_text())
    program, found = wire.address_bytes(_verify.PROGRAM_ID), given["found"]
    seeds = {
        "config": [b"config"],
        "escrow": [b"escrow", wire.address_bytes(given["agent"])],
        "execution_record": [b"execution", wire.address_bytes(given["wallet"]), bytes.fromhex(given["execution_id"])],
    }
    for name, parts in seeds.items():
        assert wire.base58(wire.program_address(parts, program)) == found[name]


def test_accounts_are_read_as_the_program_writes_them() -> None:
    accounts = {one["account"]: one for one in json.loads((VECTORS / "accounts.json").read_text())}
    one = accounts["ExecutionRecord"]
    record, fields = _verify.Record.read(base64.b64decode(one["data"])), one["fields"]
    assert (record.agent, record.caller) == (fields["agent"], fields["caller"])
    assert (str(record.amount), str(record.opened_at)) == (fields["amount"], fields["opened_at_unix_s"])
    assert (record.fee_bps, record.binding, record.status) == (fields["fee_bps"], fields["binding"], fields["status"])
    listing = accounts["AgentListed"]
    _, creator, result_key = _verify._LISTING.unpack_from(base64.b64decode(listing["data"]))
    assert wire.base58(creator) == listing["fields"]["creator"]
    assert wire.base58(result_key) == listing["fields"]["result_key"]
    config = accounts["Config"]
    _, mint = _verify._CONFIG.unpack_from(base64.b64decode(config["data"]))
    assert wire.base58(mint) == config["fields"]["usdc_mint"]


def test_transactions_of_each_version_are_read_alike() -> None:
    keys = [bytes([number]) * 32 for number in range(3)]
    calls = [_transaction.Compiled(2, [0, 1], b"x" * 200), _transaction.Compiled(1, [], b"")]
    signature, header, blockhash = bytes(64), bytes([1, 0, 2]), bytes(32)
    named = bytes([3]) + b"".join(keys) + blockhash
    # 200 is two bytes of seven bits each.
    message = header + named + bytes([2]) + bytes([2, 2, 0, 1, 0xC8, 0x01]) + b"x" * 200 + bytes([1, 0, 0])
    legacy = bytes([1]) + signature + message
    version_0 = bytes([1]) + signature + b"\x80" + message + bytes([0])
    settings = (0b100).to_bytes(4, "little")
    heads = bytes([2, 2, 200, 0, 1, 0, 0, 0])
    named = bytes([2, 3]) + b"".join(keys) + bytes(4)
    version_1 = b"\x81" + header + settings + blockhash + named + heads + bytes([0, 1]) + b"x" * 200 + signature
    for transaction in (legacy, version_0, version_1):
        assert _transaction.read(transaction) == ([wire.base58(key) for key in keys], calls)
        for end in range(0, len(transaction) - 70, 7):
            with pytest.raises(ValueError):
                _transaction.read(transaction[:end])
    with pytest.raises(ValueError):
        _transaction.read(bytes([1]) + signature + b"\x82" + message)
