"""Runs `crtx agent test` from pytest: with `--crtx-agent`, each check of the marketplace's test is a test of yours.

    pytest --crtx-agent agent.toml --junitxml report.xml

The service of the agent has to be running. The variable `CRTX_BIN` names the program if it is not `crtx`.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--crtx-agent", action="store_true", help="run `crtx agent test` for each agent.toml that is collected"
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.name != "agent.toml" or not parent.config.getoption("--crtx-agent"):
        return None
    collector: pytest.Collector = AgentFile.from_parent(parent, path=file_path)
    return collector


class AgentFile(pytest.File):
    """An agent's manifest."""

    def collect(self) -> Iterator[pytest.Item]:
        command = [os.environ.get("CRTX_BIN", "crtx"), "agent", "test", str(self.path), "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            checks = json.loads(done.stdout)["checks"]
        except (ValueError, KeyError, TypeError):
            raise self.CollectError(f"`crtx agent test` has no report: {done.stderr.strip()}") from None
        for check in checks:
            yield AgentCheck.from_parent(self, name=check["name"], check=check)


class AgentCheck(pytest.Item):
    """One check of the report."""

    def __init__(self, *, check: dict[str, Any], **rest: Any) -> None:
        super().__init__(**rest)
        self.check = check

    def runtest(self) -> None:
        if self.check["passed"] is None:
            pytest.skip(self.check["skipped"] or "skipped")
        if not self.check["passed"]:
            raise CheckFailed(self.check)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        if not isinstance(excinfo.value, CheckFailed):
            return str(super().repr_failure(excinfo))
        check = excinfo.value.check
        return "\n".join(f"{name}: {check[name]}" for name in ("expected", "received", "fix") if check.get(name))

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"crtx agent test: {self.name}"


class CheckFailed(Exception):
    """A check of the marketplace's test failed."""

    def __init__(self, check: dict[str, Any]) -> None:
        super().__init__(check["name"])
        self.check = check
