"""Who signs results."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable
from pathlib import Path
from typing import Protocol

from nacl.signing import SigningKey

from .wire import base58


class Signer(Protocol):
    """Signs with the result key of a listing; a key manager can be behind it."""

    @property
    def address(self) -> str:
        """The Ed25519 public key in base58: the listing's `result_key`."""

    def sign(self, message: bytes) -> bytes | Awaitable[bytes]:
        """The 64 bytes of the signature."""


class KeyPair:
    """A key in this process's memory. It never shows its secret."""

    def __init__(self, key: SigningKey) -> None:
        self._key = key
        self.address = base58(bytes(key.verify_key))

    @classmethod
    def from_text(cls, text: str) -> KeyPair:
        """Reads a key pair as Solana's command line writes it: 64 numbers, 32 of the seed and 32 of the public key."""
        try:
            pair = bytes(json.loads(text))
            key = SigningKey(pair[:32])
        except (ValueError, TypeError):
            # The text is a secret, so the error does not have it.
            raise ValueError("not a key pair of 64 numbers") from None
        if len(pair) != 64 or bytes(key.verify_key) != pair[32:]:
            raise ValueError("not a key pair: its public part is not that of its seed")
        return cls(key)

    @classmethod
    def from_file(cls, path: str | Path) -> KeyPair:
        """Reads a key file, such as the `result-key.json` of `crtx agent init`."""
        return cls.from_text(Path(path).read_text())

    @classmethod
    def from_env(cls, name: str = "RESULT_KEY") -> KeyPair:
        """Reads a variable that has the 64 numbers, or the path of a file with them."""
        value = os.environ.get(name)
        if not value:
            raise ValueError(f"the variable {name} is not set")
        return cls.from_text(value) if value.lstrip().startswith("[") else cls.from_file(value)

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message).signature

    def __repr__(self) -> str:
        return f"KeyPair({self.address})"
