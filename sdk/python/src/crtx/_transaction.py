"""Reads Solana's transactions: the legacy form, version 0, and version 1 (SIMD-0385), which JSON encodings lack."""

from __future__ import annotations

from dataclasses import dataclass

from .wire import base58


@dataclass(frozen=True)
class Compiled:
    """An instruction that names accounts by their index."""

    program: int
    accounts: list[int]
    data: bytes


class _Bytes:
    """Reads from the front; what is not there is a ValueError."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) != count:
            raise ValueError("the transaction ends too early")
        self._at += count
        return taken

    def u8(self) -> int:
        return self.take(1)[0]

    def u16(self) -> int:
        return int.from_bytes(self.take(2), "little")

    def short(self) -> int:
        """Seven bits a byte, lowest first; the highest bit says that another byte follows."""
        number = 0
        for shift in (0, 7, 14):
            byte = self.u8()
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
        raise ValueError("a length is too long")

    def addresses(self, count: int) -> list[str]:
        return [base58(self.take(32)) for _ in range(count)]


def read(data: bytes) -> tuple[list[str], list[Compiled]]:
    """The addresses that the transaction itself names, and its instructions."""
    bytes_ = _Bytes(data)
    if data[:1] == b"\x81":
        return _version_1(bytes_)
    bytes_.take(64 * bytes_.short())
    version = bytes_.u8()
    if version > 0x80:
        raise ValueError("a transaction of an unknown version")
    # Without a version, that byte is the first of the header's three.
    bytes_.take(3 if version == 0x80 else 2)
    addresses = bytes_.addresses(bytes_.short())
    bytes_.take(32)
    instructions = []
    for _ in range(bytes_.short()):
        program = bytes_.u8()
        accounts = list(bytes_.take(bytes_.short()))
        instructions.append(Compiled(program, accounts, bytes_.take(bytes_.short())))
    return addresses, instructions


def _version_1(bytes_: _Bytes) -> tuple[list[str], list[Compiled]]:
    bytes_.take(4)
    settings = int.from_bytes(bytes_.take(4), "little")
    bytes_.take(32)
    count, named = bytes_.u8(), bytes_.u8()
    addresses = bytes_.addresses(named)
    # One value for each setting.
    bytes_.take(4 * settings.bit_count())
    heads = [(bytes_.u8(), bytes_.u8(), bytes_.u16()) for _ in range(count)]
    return addresses, [
        Compiled(program, list(bytes_.take(accounts)), bytes_.take(size)) for program, accounts, size in heads
    ]
