"""What is hashed and signed, and how it is written: the wire contract of crtx. Nothing here does I/O."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import uuid
from decimal import Decimal
from typing import Any, Mapping

import rfc8785
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

#: Most base units that an amount has.
MAX_BASE_UNITS = 2**64 - 1
_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS = {digit: value for value, digit in enumerate(_ALPHABET)}
_NAMESPACE = uuid.UUID("63727478-2d69-4465-8d70-6f74656e6379")
_CID_HEAD = bytes([0x01, 0x55, 0x12, 0x20])


class WireError(ValueError):
    """A text or value does not have the form of the contract."""


def base58(data: bytes) -> str:
    """The base58 form of bytes."""
    number = int.from_bytes(data, "big")
    digits = []
    while number:
        number, digit = divmod(number, 58)
        digits.append(_ALPHABET[digit])
    zeros = len(data) - len(data.lstrip(b"\0"))
    return "1" * zeros + "".join(reversed(digits))


def base58_decode(text: str) -> bytes:
    """The bytes of a base58 text."""
    number = 0
    for digit in text:
        if digit not in _DIGITS:
            raise WireError("not a base58 text")
        number = number * 58 + _DIGITS[digit]
    zeros = len(text) - len(text.lstrip("1"))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")


def base58_bytes(text: str, length: int) -> bytes:
    """The bytes of a base58 text that has exactly `length` of them."""
    # A longer text is refused before it is decoded.
    data = base58_decode(text) if len(text) <= length * 11 // 8 + 1 else b""
    if len(data) != length:
        raise WireError(f"not the base58 form of {length} bytes")
    return data


def address_bytes(text: str) -> bytes:
    """The 32 bytes of an address."""
    return base58_bytes(text, 32)


def result_hash(result: str | bytes) -> str:
    """The text form of a result's hash: `sha256:` and the hexadecimal SHA-256 of its UTF-8 bytes."""
    try:
        data = result.encode() if isinstance(result, str) else result
    except UnicodeEncodeError as error:
        raise WireError("the result is no Unicode text: it has a lone surrogate") from error
    return "sha256:" + hashlib.sha256(data).hexdigest()


def hash_bytes(text: str) -> bytes:
    """The 32 bytes of a result hash in its text form."""
    if not re.fullmatch("sha256:[0-9a-f]{64}", text):
        raise WireError("result_hash must be `sha256:` followed by 64 lower-case hexadecimal digits")
    return bytes.fromhex(text[7:])


def call_message(record: bytes, opened_at_unix_s: int, hash_text: str) -> bytes:
    """The 126 bytes that a call-bound signature is over."""
    hash_bytes(hash_text)
    return b"crtx-call-v2:" + record + b":" + _second(opened_at_unix_s) + b":" + hash_text.encode()


def failure_message(record: bytes, opened_at_unix_s: int) -> bytes:
    """The 57 bytes that a signed failure is over."""
    return b"crtx-failure-v1:" + record + b":" + _second(opened_at_unix_s)


def _second(unix_s: int) -> bytes:
    return unix_s.to_bytes(8, "little", signed=True)


def signature_text(signature: bytes) -> str:
    """The text form of a signature."""
    return "ed25519:" + base58(signature)


def signature_bytes(text: str) -> bytes:
    """The 64 bytes of a signature in its text form."""
    if not text.startswith("ed25519:"):
        raise WireError("a signature is `ed25519:` followed by the base58 form of 64 bytes")
    return base58_bytes(text[8:], 64)


def is_signed_by(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the key signed the message. libsodium refuses what has more than one encoding, and small orders, as the
    chain's Ed25519 program does."""
    try:
        VerifyKey(key).verify(message, signature)
    except (BadSignatureError, ValueError):
        return False
    return True


def canonical(value: Any) -> bytes:
    """The RFC 8785 form. A number that a double does not hold is refused: its hash would be that of another one."""
    try:
        return rfc8785.dumps(_plain(value))
    except (rfc8785.CanonicalizationError, UnicodeError, RecursionError) as error:
        raise WireError(f"it has no canonical form: {error}") from error


def _plain(value: Any) -> Any:
    """The value with its numbers as the canonicaliser takes them."""
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    if isinstance(value, Decimal) or (isinstance(value, int) and abs(value) >= 2**53):
        changed = isinstance(value, int) and abs(value) > 2**53
        # Zero has a form of its own, and huge exponents are compared without expanding them.
        if changed or not Decimal(value).is_finite() or (value and Decimal(repr(float(value))) != value):
            raise WireError("a number would be changed when it is read; send it as text")
        return float(value) if value else 0
    return value


def request_hash(task: str, parameters: Mapping[str, Any] | None = None) -> bytes:
    """SHA-256 of the RFC 8785 form of `{parameters, task}`: what the opening on chain names."""
    return hashlib.sha256(canonical({"parameters": parameters or {}, "task": task})).digest()


def idempotency_key(text: str) -> str:
    """The key, if it is one."""
    if not re.fullmatch(r"[\x21-\x7e]{1,255}", text):
        raise WireError("an idempotency key is 1 to 255 visible ASCII characters")
    return text


def execution_id(wallet: str, key: str) -> uuid.UUID:
    """The execution id that follows from a wallet and an idempotency key."""
    name = address_bytes(wallet) + idempotency_key(key).encode()
    return uuid.UUID(bytes=hashlib.sha1(_NAMESPACE.bytes + name).digest()[:16], version=5)


def cid(hash_text: str) -> str:
    """The CID (version 1, raw, sha2-256, base32) of the content with this hash."""
    packed = base64.b32encode(_CID_HEAD + hash_bytes(hash_text)).decode()
    return "b" + packed.rstrip("=").lower()


def cid_hash(text: str) -> str:
    """The hash that a CID in base32 names."""
    # 36 bytes are 58 digits.
    if not re.fullmatch("b[a-z2-7]{58}", text):
        raise WireError("not a CIDv1 with raw codec and sha2-256 in base32")
    data = base64.b32decode(text[1:].upper() + "======")
    hash_text = "sha256:" + data[4:].hex()
    if data[:4] != _CID_HEAD or cid(hash_text) != text:
        raise WireError("not a CIDv1 with raw codec and sha2-256 in base32")
    return hash_text


def usdc_base(amount: str) -> int:
    """The base units (millionths of a USDC) of a decimal text such as `0.05`."""
    if not re.fullmatch(r"[0-9]+(\.[0-9]{1,6})?", amount, re.ASCII) or len(amount) > 40:
        raise WireError("an amount of USDC is a decimal number with at most six decimals")
    return usdc_of_number(Decimal(amount))


def usdc_of_number(amount: Any) -> int:
    """The base units of a number in JSON, as `strict_json` reads it. A float is refused, because it is not exact."""
    if type(amount) not in (Decimal, int):
        raise WireError("an amount of USDC is an exact number")
    number = Decimal(amount)
    # Numbers with huge exponents are refused before they are expanded.
    if not number.is_finite() or number.is_signed() or (number and not -30 <= number.adjusted() <= 13):
        raise WireError("not an amount of USDC")
    base = number.scaleb(6) if number else Decimal(0)
    if base != base.to_integral_value() or base > MAX_BASE_UNITS:
        raise WireError("an amount in USDC has at most six decimals and is at most 18446744073709.551615")
    return int(base)


def usdc_text(base: int) -> str:
    """The decimal text of base units without trailing zeros: `0.05`, `12`."""
    whole, fraction = divmod(base, 1_000_000)
    return f"{whole}.{fraction:06}".rstrip("0").rstrip(".") if fraction else str(whole)


def fee_split(amount: int, fee_bps: int) -> tuple[int, int]:
    """The creator's and the platform's part of an amount in base units."""
    if not 0 <= fee_bps <= 10_000:
        raise WireError("a fee is 0 to 10000 basis points")
    platform = amount * fee_bps // 10_000
    return amount - platform, platform


def session_key(api_key: str) -> SigningKey:
    """The Ed25519 key pair that an API key derives. Its public part is what the services know the key by."""
    prefix = next((known for known in ("crtx_live_", "crtx_test_") if api_key.startswith(known)), None)
    if prefix is None:
        raise WireError("an API key starts with `crtx_live_` or `crtx_test_`")
    secret = base58_bytes(api_key[len(prefix) :], 32)
    # HKDF-SHA256 (RFC 5869) of one block.
    extracted = hmac.digest(prefix.encode(), secret, "sha256")
    return SigningKey(hmac.digest(extracted, b"crtx session key v1\x01", "sha256"))


def strict_json(data: bytes, exact: bool = True) -> Any:
    """Reads JSON in which no object names a member twice and no number is NaN or infinite. `exact`: numbers with a
    point are read as decimals, and not as floats."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise WireError("a member is given more than once")
        return found

    def refuse(name: str) -> Any:
        raise WireError(f"{name} is no JSON")

    try:
        text = data.decode()
        if not exact:
            return json.loads(text, object_pairs_hook=members, parse_constant=refuse)
        return json.loads(
            text, object_pairs_hook=members, parse_constant=refuse, parse_float=_decimal, parse_int=_whole
        )
    except WireError:
        raise
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise WireError("not JSON") from error


def _decimal(text: str) -> Decimal:
    # A zero has any exponent, also one that a decimal has not.
    mantissa = re.split("[eE]", text)[0]
    return Decimal(text if mantissa.strip("-0.") else mantissa)


def _whole(text: str) -> Decimal | int:
    # An integer has no negative zero, and no amount is one.
    return Decimal(text) if text == "-0" else int(text)


def program_address(seeds: list[bytes], program: bytes) -> bytes:
    """The program-derived address of seeds: the first hash, from bump 255 downwards, that is no point of the curve."""
    for bump in range(255, -1, -1):
        parts = b"".join(seeds) + bytes([bump]) + program + b"ProgramDerivedAddress"
        address = hashlib.sha256(parts).digest()
        if not _is_on_curve(address):
            return address
    raise WireError("the seeds have no address")


_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P


def _is_on_curve(data: bytes) -> bool:
    y = int.from_bytes(data, "little") & (2**255 - 1)
    u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
    return pow(u * pow(v, -1, _P), (_P - 1) // 2, _P) in (0, 1)
