"""Values of the formats that the description of the API names, for schemathesis."""

import os
import string

import schemathesis
from hypothesis import strategies as st

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def known(*names):
    """What exists in the marketplace under test."""
    return st.sampled_from([os.environ[name] for name in names])


visible = st.text(string.ascii_letters + string.digits + string.punctuation.replace("/", "").replace("\\", "") + "äß語", min_size=1, max_size=60)
addresses = st.binary(min_size=32, max_size=32).map(base58)

schemathesis.openapi.format("solana-address", addresses | known("CRTX_AGENT", "CRTX_WALLET"))
schemathesis.openapi.format("ed25519-signature", st.binary(min_size=64, max_size=64).map(lambda b: "ed25519:" + base58(b)))
schemathesis.openapi.format("visible-text", visible)
schemathesis.openapi.format("visible-file-name", visible.filter(lambda name: name not in (".", "..")))
schemathesis.openapi.format("visible-lines", visible.map(lambda text: text + "\n" + text))
