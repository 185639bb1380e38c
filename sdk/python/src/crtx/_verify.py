"""The checks of a result: what it is, who signed it, and that the chain paid for exactly this. The names are those of
`crtx verify`."""

from __future__ import annotations

import base64
import json
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from . import _transaction, wire
from ._flow import Broken, Flow, Pause, Reply, Send, backoff
from .errors import NotVerified, VerificationFailed

#: The marketplace program. A deployment of its own has another one, which `program_id` of a client names.
PROGRAM_ID = "9d5194GTeZmmrAj3gXzNGxh86PNTCPK4cmDfTKhFViGK"
_ED25519_PROGRAM = "Ed25519SigVerify111111111111111111111111111"
_TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
_TRANSFER_CHECKED = 12
_MAX_FEE_BPS = 500
#: A node that is behind gets this long to see what the service has seen.
_NODE_LAG_S = 10.0
#: Strangers can add transactions about a record: those next to its end are looked at, and not more.
_MOST_READ = 50

_RECORD = struct.Struct("<8s32s32s32s32s16sQQqqIIIHBBBBBBBBBB")
_RECORD_HEAD = bytes.fromhex("85c9b6cee06f2da8")
_LISTING = struct.Struct("<8s32s32s")
_LISTING_HEAD = bytes.fromhex("062f56defd65a24c")
_CONFIG = struct.Struct("<8s192x32s")
_CONFIG_HEAD = bytes.fromhex("9b0caae01efacc82")
_COMPLETE = bytes.fromhex("3765340479e99632")
_FAIL = bytes.fromhex("acf37a6dddafbbb7")
_REFUND = bytes.fromhex("140d62078bc53f88")
_OPEN, _COMPLETED, _FAILED, _EXPIRED, _DISPUTED = 1, 2, 3, 4, 5


@dataclass(frozen=True)
class Claims:
    """What the service says of an execution. Nothing in it is trusted."""

    execution_id: UUID
    status: str
    result: str | None
    result_hash: str | None
    on_chain_record: str
    ipfs_url: str | None
    cost_usdc: Decimal
    creator_amount_usdc: Decimal | None = None
    platform_amount_usdc: Decimal | None = None
    execution_time_ms: int | None = None
    tokens_used: int | None = None
    #: What the caller knows by itself.
    agent_id: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True)
class Record:
    """An execution record on chain."""

    agent: str
    caller: str
    result_hash: bytes
    execution_id: UUID
    amount: int
    opened_at: int
    finished_at: int
    execution_time_ms: int
    tokens_used: int | None
    fee_bps: int
    binding: int
    status: int

    @classmethod
    def read(cls, data: bytes) -> Record:
        _, agent, caller, _, result_hash, execution_id, _, amount, opened, finished, took, tokens, _, fee, *rest = (
            _RECORD.unpack_from(data)
        )
        _, binding, status, _, _, reported, *_ = rest
        return cls(
            agent=wire.base58(agent),
            caller=wire.base58(caller),
            result_hash=result_hash,
            execution_id=UUID(bytes=execution_id),
            amount=amount,
            opened_at=opened,
            finished_at=finished,
            execution_time_ms=took,
            tokens_used=tokens if reported else None,
            fee_bps=fee,
            binding=binding,
            status=status,
        )


@dataclass(frozen=True)
class Call:
    """An instruction of a transaction."""

    program: str
    accounts: list[str]
    data: bytes


@dataclass(frozen=True)
class Ending:
    """The transaction that settled or refunded the record."""

    signature: str
    #: The instruction in front of the one that ended it.
    before: Call | None
    ended: Call
    #: What the ending instruction called.
    called: list[Call]
    #: Owners of the token accounts of the transaction.
    owners: dict[str, str]


@dataclass(frozen=True)
class Evidence:
    """What the chain shows."""

    program: str
    record_address: str
    record: Record
    creator: str
    result_key: bytes
    usdc_mint: str
    ending: Ending
    #: What the check of that name has found.
    identity: str


def record_address(on_chain_record: str) -> str:
    """The address that an explorer link names."""
    for part in reversed(urlsplit(on_chain_record).path.split("/")):
        try:
            wire.address_bytes(part)
        except wire.WireError:
            continue
        return part
    raise VerificationFailed("record", "`on_chain_record` names no account")


def check_content(claims: Claims) -> dict[str, str]:
    """The checks that need no chain."""
    if claims.result is None or claims.result_hash is None:
        raise VerificationFailed("result", "the answer has no result")
    try:
        actual = wire.result_hash(claims.result)
    except wire.WireError as error:
        raise VerificationFailed("result", str(error)) from error
    if actual != claims.result_hash:
        raise VerificationFailed("result", f"the result has {actual}, and {claims.result_hash} is stated")
    address = (claims.ipfs_url or "").rstrip("/").rsplit("/", 1)[-1]
    if address != wire.cid(actual):
        raise VerificationFailed("address", f"`{address}` does not name {actual}")
    return {"result": f"the result has {actual}", "address": f"{address} names the same hash"}


def collect(claims: Claims, node: str, program: str, deadline: float) -> Flow[Evidence]:
    """Reads record, listing, configuration and the ending transaction."""
    address = record_address(claims.on_chain_record)
    config = wire.base58(wire.program_address([b"config"], wire.address_bytes(program)))
    until = min(time.monotonic() + _NODE_LAG_S, deadline)
    failures = 0
    while True:
        accounts = yield from _accounts(node, [address, config], deadline)
        record = None
        if accounts[0] is not None:
            record = Record.read(_checked("record", accounts[0], program, _RECORD_HEAD, _RECORD.size))
        if record is not None and record.status != _OPEN:
            break
        if time.monotonic() >= until:
            said = "is not on the chain" if record is None else "is open"
            raise VerificationFailed(
                "record" if record is None else "status",
                f"{address} {said}; `crtx verify` reads records that were closed",
            )
        yield Pause(backoff(failures) / 4)
        failures += 1
    try:
        identity = _identity(claims, record, address, program)
    except _Wrong as wrong:
        raise VerificationFailed("identity", str(wrong)) from None
    _, usdc_mint = _CONFIG.unpack_from(_checked("record", accounts[1], program, _CONFIG_HEAD, _CONFIG.size))
    (listed,) = yield from _accounts(node, [record.agent], deadline)
    listing = _checked("listing", listed, program, _LISTING_HEAD, _LISTING.size)
    _, creator, result_key = _LISTING.unpack_from(listing)
    ending = yield from _ending(node, program, address, record.finished_at, deadline)
    return Evidence(
        program=program,
        record_address=address,
        record=record,
        creator=wire.base58(creator),
        result_key=result_key,
        usdc_mint=wire.base58(usdc_mint),
        ending=ending,
        identity=identity,
    )


def _checked(check: str, account: Any, program: str, head: bytes, size: int) -> bytes:
    """The bytes of an account, if it is one of this kind of the program's."""
    if account is None:
        raise VerificationFailed(check, "an account that the record needs is not on the chain")
    data = base64.b64decode(account["data"][0])
    if account["owner"] != program or data[:8] != head or len(data) < size:
        raise VerificationFailed(check, f"the account is not one of the program {program}")
    return data


def _ending(node: str, program: str, record: str, finished_at: int, deadline: float) -> Flow[Ending]:
    options = {"commitment": "confirmed", "limit": 1_000}
    listed = yield from _rpc(node, "getSignaturesForAddress", [record, options], deadline)
    listed = [one for one in listed if one["err"] is None]
    listed.sort(key=lambda one: abs((one["blockTime"] or 0) - finished_at))
    options = {"commitment": "confirmed", "encoding": "base64", "maxSupportedTransactionVersion": 1}
    for one in listed[:_MOST_READ]:
        found = yield from _rpc(node, "getTransaction", [one["signature"], options], deadline)
        ending = found and _ending_of(one["signature"], found, program, record)
        if ending:
            return ending
    raise VerificationFailed("settlement", f"the node shows no transaction that ends the execution of {record}")


def _ending_of(signature: str, found: Any, program: str, record: str) -> Ending | None:
    meta = found["meta"]
    if meta["err"] is not None:
        return None
    named, instructions = _transaction.read(base64.b64decode(found["transaction"][0]))
    loaded = meta.get("loadedAddresses") or {}
    keys = [*named, *loaded.get("writable", []), *loaded.get("readonly", [])]
    calls = [Call(keys[one.program], [keys[index] for index in one.accounts], one.data) for one in instructions]

    def inner_call(one: Any) -> Call:
        accounts = [keys[index] for index in one["accounts"]]
        return Call(keys[one["programIdIndex"]], accounts, wire.base58_decode(one["data"]))

    for at, ended in enumerate(calls):
        kind = ended.data[:8]
        if ended.program != program or kind not in (_COMPLETE, _FAIL, _REFUND):
            continue
        record_at = 1 if kind == _REFUND else 3
        if ended.accounts[record_at : record_at + 1] != [record]:
            continue
        inner = [
            one
            for group in meta.get("innerInstructions") or []
            if group["index"] == at
            for one in group["instructions"]
        ]
        owners = {keys[one["accountIndex"]]: one.get("owner", "") for one in meta.get("postTokenBalances") or []}
        return Ending(signature, calls[at - 1] if at else None, ended, [inner_call(one) for one in inner], owners)
    return None


def _accounts(node: str, addresses: list[str], deadline: float) -> Flow[list[Any]]:
    options = {"commitment": "confirmed", "encoding": "base64"}
    found = yield from _rpc(node, "getMultipleAccounts", [addresses, options], deadline)
    return list(found["value"])


def _rpc(node: str, method: str, params: list[Any], deadline: float) -> Flow[Any]:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    failures = 0
    while True:
        got: Reply | Broken = yield Send(
            "POST", node, min(deadline, time.monotonic() + 10), {"content-type": "application/json"}, body
        )
        problem = got.reason if isinstance(got, Broken) else f"HTTP {got.status}"
        if isinstance(got, Reply) and got.status == 200:
            try:
                document = json.loads(got.body)
                if "result" in document:
                    return document["result"]
                problem = str(document.get("error"))
            except (ValueError, AttributeError, TypeError):
                problem = "no JSON"
        pause = backoff(failures)
        failures += 1
        if failures > 3 or time.monotonic() + pause > deadline:
            raise NotVerified(f"the Solana node does not answer {method}: {problem}")
        yield Pause(pause)


def check_chain(claims: Claims, evidence: Evidence) -> dict[str, str]:
    """The checks of record, signature and settlement. The first one that fails raises."""
    refunded = evidence.record.status in (_FAILED, _EXPIRED)
    checks = _REFUND_CHECKS if refunded else _RESULT_CHECKS
    details = {}
    for name, check in checks.items():
        try:
            details[name] = check(claims, evidence)
        except _Wrong as wrong:
            raise VerificationFailed(name, str(wrong)) from None
    return details


class _Wrong(Exception):
    """What a check finds."""


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _Wrong(otherwise)


def _identity(claims: Claims, record: Record, address: str, program: str) -> str:
    _demand(record.execution_id == claims.execution_id, f"the record is of execution {record.execution_id}")
    caller = wire.address_bytes(record.caller)
    seeds = [b"execution", caller, record.execution_id.bytes]
    derived = wire.base58(wire.program_address(seeds, wire.address_bytes(program)))
    _demand(derived == address, f"this execution has its record at {derived}")
    _demand(claims.agent_id in (None, record.agent), f"the record's agent is {record.agent}")
    if claims.idempotency_key is not None:
        own = wire.execution_id(record.caller, claims.idempotency_key)
        _demand(own == record.execution_id, f"the idempotency key belongs to execution {own} of {record.caller}")
    return f"execution {record.execution_id} of wallet {record.caller}, agent {record.agent}"


def _status(claims: Claims, evidence: Evidence) -> str:
    status = evidence.record.status
    if status not in (_COMPLETED, _DISPUTED):
        raise NotVerified("a dispute of this execution was upheld; `crtx verify` checks its amounts")
    _demand(claims.status in ("completed", "disputed"), f"the chain says completed, and `{claims.status}` is stated")
    return "completed" if status == _COMPLETED else "completed, and disputed since"


def _commitment(claims: Claims, evidence: Evidence) -> str:
    committed = "sha256:" + evidence.record.result_hash.hex()
    _demand(committed == claims.result_hash, f"the chain has {committed}, and {claims.result_hash} is stated")
    return "the chain has the same result hash"


def _settlement(claims: Claims, evidence: Evidence) -> str:
    refunded = evidence.record.status in (_FAILED, _EXPIRED)
    _demand(
        (evidence.ending.ended.data[:8] != _COMPLETE) == refunded, "the transaction did not do what the record says"
    )
    return f"transaction {evidence.ending.signature} ended the execution"


def _message(claims: Claims, evidence: Evidence) -> bytes:
    record = evidence.record
    text = claims.result_hash or ""
    if record.binding:
        return wire.call_message(wire.address_bytes(evidence.record_address), record.opened_at, text)
    return text.encode()


def _proof(claims: Claims, evidence: Evidence) -> bytes:
    """Data of the Ed25519 instruction: 16 bytes that say where the parts are, key, signature, message."""
    before = evidence.ending.before
    if before is None or before.program != _ED25519_PROGRAM or before.accounts:
        raise _Wrong("the instruction before the completion is no proof of a signature")
    size = 112 + len(_message(claims, evidence))
    _demand(len(before.data) == size, f"the proof has {len(before.data)} bytes instead of {size}")
    return before.data


def _gate(claims: Claims, evidence: Evidence) -> str:
    size = len(_message(claims, evidence))
    header = struct.pack("<BBHHHHHHH", 1, 0, 48, 0xFFFF, 16, 0xFFFF, 112, size, 0xFFFF)
    _demand(_proof(claims, evidence)[:16] == header, "the proof is not in the one canonical shape")
    return "the chain's Ed25519 program ran directly before the completion"


def _about(claims: Claims, evidence: Evidence) -> str:
    _demand(_proof(claims, evidence)[112:] == _message(claims, evidence), "something else was signed")
    bound = "for this opening of the record alone" if evidence.record.binding else "by its hash"
    return f"the result was signed, {bound}"


def _signature(claims: Claims, evidence: Evidence) -> str:
    proof = _proof(claims, evidence)
    holds = wire.is_signed_by(proof[16:48], _message(claims, evidence), proof[48:112])
    _demand(holds, "the signature does not verify")
    return "verifies under Ed25519's strict rules"


def _listing(claims: Claims, evidence: Evidence) -> str:
    key = _proof(claims, evidence)[16:48]
    listed = wire.base58(evidence.result_key)
    if key == evidence.result_key:
        return f"the listing registers {listed}"
    # Every opening changes the listing, so its time does not tell when the creator replaced the key.
    raise _Wrong(f"{wire.base58(key)} signed, and the listing registers {listed}; `crtx verify` knows replaced keys")


def _parts(evidence: Evidence) -> tuple[int, int]:
    return wire.fee_split(evidence.record.amount, evidence.record.fee_bps)


def _split(claims: Claims, evidence: Evidence) -> str:
    record = evidence.record
    _demand(record.fee_bps <= _MAX_FEE_BPS, f"the program never takes a fee of {record.fee_bps} basis points")
    amount, creator, platform = (wire.usdc_text(base) for base in (record.amount, *_parts(evidence)))
    return f"{amount} = {creator} + {platform} USDC"


def _check_moved(evidence: Evidence, due: dict[str, int], owner_of: str, owner: str) -> None:
    """The instruction moved exactly this out of the agent's escrow, and the first payee is an account of `owner`."""
    escrow = wire.program_address(
        [b"escrow", wire.address_bytes(evidence.record.agent)], wire.address_bytes(evidence.program)
    )
    due = {wire.base58(escrow): -evidence.record.amount, **due}
    moved: dict[str, int] = {}
    for call in evidence.ending.called:
        if call.program != _TOKEN_PROGRAM or call.data[:1] != bytes([_TRANSFER_CHECKED]) or len(call.data) < 9:
            continue
        source, mint, target = call.accounts[:3]
        if mint == evidence.usdc_mint:
            amount = int.from_bytes(call.data[1:9], "little")
            moved[source] = moved.get(source, 0) - amount
            moved[target] = moved.get(target, 0) + amount
    for account, amount in due.items():
        got = moved.get(account, 0)
        _demand(got == amount, f"{account} changed by {got} base units instead of {amount}")
    _demand(evidence.ending.owners.get(owner_of) == owner, f"{owner_of} is not an account of {owner}")


def _payment(claims: Claims, evidence: Evidence) -> str:
    creator_account, treasury = evidence.ending.ended.accounts[6:8]
    creator, platform = _parts(evidence)
    due = {creator_account: creator}
    due[treasury] = due.get(treasury, 0) + platform
    _check_moved(evidence, due, creator_account, evidence.creator)
    parts = f"{wire.usdc_text(creator)} and the treasury {wire.usdc_text(platform)} USDC"
    return f"{evidence.creator} got {parts} out of escrow"


def _refund_payment(claims: Claims, evidence: Evidence) -> str:
    account = evidence.ending.ended.accounts[4 if evidence.ending.ended.data[:8] == _REFUND else 6]
    amount = evidence.record.amount
    _check_moved(evidence, {account: amount}, account, evidence.record.caller)
    return f"{evidence.record.caller} got all {wire.usdc_text(amount)} USDC back"


def _amounts(claims: Claims, evidence: Evidence) -> str:
    record = evidence.record
    creator, platform = _parts(evidence)
    for name, stated, actual in (
        ("cost_usdc", claims.cost_usdc, record.amount),
        ("creator_amount_usdc", claims.creator_amount_usdc, creator),
        ("platform_amount_usdc", claims.platform_amount_usdc, platform),
    ):
        same = stated is None or stated == Decimal(actual).scaleb(-6)
        _demand(same, f"{name} is stated as {stated}, and the chain has {wire.usdc_text(actual)}")
    for name, said, counted in (
        ("execution_time_ms", claims.execution_time_ms, record.execution_time_ms),
        ("tokens_used", claims.tokens_used, record.tokens_used),
    ):
        _demand(said is None or said == counted, f"{name} is stated as {said}, and the chain has {counted}")
    return "every stated amount is the chain's"


def _refunded(claims: Claims, evidence: Evidence) -> str:
    _demand(claims.status == "failed", f"the chain says refunded, and `{claims.status}` is stated")
    return "refunded"


def _nothing_paid(claims: Claims, evidence: Evidence) -> str:
    stated = (claims.cost_usdc, claims.creator_amount_usdc, claims.platform_amount_usdc)
    _demand(all(not amount for amount in stated), "an amount is stated as paid, and everything was refunded")
    _demand(claims.result is None and claims.result_hash is None, "a result is stated, and the chain has none")
    return "nothing is stated as paid, and no result"


_Check = Callable[[Claims, Evidence], str]
_RESULT_CHECKS: dict[str, _Check] = {
    "status": _status,
    "commitment": _commitment,
    "settlement": _settlement,
    "gate": _gate,
    "message": _about,
    "signature": _signature,
    "listing": _listing,
    "split": _split,
    "payment": _payment,
    "amounts": _amounts,
}
_REFUND_CHECKS: dict[str, _Check] = {
    "status": _refunded,
    "settlement": _settlement,
    "payment": _refund_payment,
    "amounts": _nothing_paid,
}
