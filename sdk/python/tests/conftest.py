"""What tests share."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from crtx import _core, _verify
from support import Marketplace


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries come at once."""
    for module in (_core, _verify):
        monkeypatch.setattr(module, "backoff", lambda failures: 0.01)


@dataclass
class Market:
    """A marketplace with the example seller and a buyer."""

    up: Marketplace
    agent_id: str
    #: Price in base units.
    price: int
    api_key: str
    buyer: str
    #: One line for each task that the seller worked on.
    worked: Path

    @property
    def url(self) -> str:
        return self.up.url

    def runs(self) -> list[str]:
        return self.worked.read_text().splitlines() if self.worked.exists() else []


@pytest.fixture(scope="session")
def market() -> Iterator[Market]:
    folder = Path(tempfile.mkdtemp(prefix="crtx-python-"))
    up = Marketplace(folder)
    try:
        creator, _ = up.person("creator")
        caller, wallet = up.person("caller")
        home = up.agent("reader", price_usdc='"0.01"', timeout_seconds="20", task='"<p>One two three.</p>"')
        manifest = home / "agent.toml"
        # The example's parameters are not those of `html_to_text`.
        text = manifest.read_text()
        manifest.write_text(
            text[: text.index("[input_schema]")] + SCHEMAS + '\n[test]\ntask = "<p>One two three.</p>"\n'
        )
        up.serve(home, ["uvicorn", "counted:app", "--log-level", "warning"])
        listed = up.crtx("agent", "publish", "reader", "--yes", wallet=creator)
        made = up.crtx(
            *("key", "create", "tests", "--per-call", "0.10", "--total", "900", "--agent", listed["agent_id"], "--yes"),
            wallet=caller,
        )
        yield Market(up, listed["agent_id"], 10_000, made["api_key"], wallet, home / "worked.txt")
    finally:
        up.close()
        shutil.rmtree(folder, ignore_errors=True)


SCHEMAS = """[input_schema]
type = "object"
additionalProperties = false

[output_schema]
type = "string"
"""
