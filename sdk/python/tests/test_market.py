"""A seller and buyers on a real marketplace."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from conftest import Market
from crtx import AsyncClient, Client, ExecutionFailed, InsufficientBalance, Unauthorized, wire
from support import PACKAGE, binary

ALL_CHECKS = (
    *("result", "address", "record", "identity", "status", "commitment", "settlement", "gate", "message", "signature"),
    *("listing", "split", "payment", "amounts"),
)


def test_a_buyer_gets_a_verified_result_and_the_chain_pays_the_price_once(market: Market) -> None:
    before = market.up.usdc_of(market.buyer)
    with Client(market.url, market.api_key) as client:
        result = client.execute(market.agent_id, "<h1>Hello</h1><p>one two three</p>")
        assert (result.result, result.cost_usdc) == ("Hello\none two three", Decimal("0.01"))
        assert result.checks == ALL_CHECKS
        assert market.up.usdc_of(market.buyer) == before - market.price
        assert client.verify(result.execution_id).checks == ALL_CHECKS
        again = client.execute(
            market.agent_id, "<h1>Hello</h1><p>one two three</p>", idempotency_key=result.idempotency_key
        )
        assert again.execution_id == result.execution_id
        assert market.up.usdc_of(market.buyer) == before - market.price
        assert client.get(result.execution_id).creator_amount_usdc == Decimal("0.0099")
        assert market.up.crtx("verify", str(result.execution_id), "--api-key", market.api_key)["verified"]


def test_the_async_client_starts_waits_lists_and_follows_events(market: Market) -> None:
    async def run() -> None:
        async with AsyncClient(market.url, market.api_key) as client:
            started = await client.start(market.agent_id, "<p>async</p>")
            result = await client.wait(started)
            assert (result.result, result.checks) == ("async", ALL_CHECKS)
            page = await client.list(limit=1)
            assert page.executions[0].execution_id == result.execution_id
            async for event in client.events(types=["execution.completed"]):
                if event.execution_id == result.execution_id:
                    break
            found = await client.agents.search("reader")
            assert market.agent_id in [agent.agent_id for agent in found.agents]
            assert (await client.agents.get(market.agent_id)).timeout_seconds == 20

    asyncio.run(run())


def test_a_refund_is_verified_and_named(market: Market) -> None:
    target = next(agent for agent in market.up.info["agents"] if agent["name"] == "conformance-target")
    with Client(market.url, market.up.info["api_key"]) as client:
        with pytest.raises(ExecutionFailed, match="failed as requested") as failed:
            client.execute(target["agent_id"], "x", {"behaviour": "fail"}, idempotency_key="refund-1")
        assert failed.value.idempotency_key == "refund-1" and failed.value.execution_id is not None
        verified = client.verify(failed.value.execution_id)
        assert verified.refunded and verified.checks == (
            "record",
            "identity",
            "status",
            "settlement",
            "payment",
            "amounts",
        )


def test_a_key_that_nobody_registered_is_refused(market: Market) -> None:
    unknown = "crtx_test_" + wire.base58(bytes(range(1, 33)))
    with Client(market.url, unknown) as client, pytest.raises(Unauthorized):
        client.execute(market.agent_id, "x")
    with Client(market.url, market.up.info["unfunded_api_key"]) as client, pytest.raises(InsufficientBalance):
        client.execute(market.up.info["agents"][0]["agent_id"], "x")


@pytest.mark.parametrize("example", ["buy.py", "buy_async.py"])
def test_the_buyer_examples_buy(market: Market, example: str) -> None:
    environment = {
        **os.environ,
        "CRTX_URL": market.url,
        "CRTX_API_KEY": market.api_key,
        "PYTHONPATH": str(PACKAGE / "src"),
    }
    command = [sys.executable, str(PACKAGE / "examples" / example), market.agent_id]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "Hello\none two three\n"


@pytest.mark.parametrize(
    ("example", "path", "command"),
    [
        ("sell", "/", ["uvicorn", "sell:app", "--log-level", "warning"]),
        ("sell_fastapi", "/execute", ["uvicorn", "sell_fastapi:app", "--log-level", "warning"]),
        ("sell_flask", "/execute", ["flask", "--app", "sell_flask", "run"]),
    ],
)
def test_every_seller_example_passes_the_conformance_test_from_pytest(
    market: Market, example: str, path: str, command: list[str]
) -> None:
    home = market.up.agent(example)
    manifest = home / "agent.toml"
    text = manifest.read_text()
    kind, test = {
        "sell": ("string", 'task = "<p>One two three.</p>"'),
        "sell_fastapi": ("object", 'task = "a = 1\\n"'),
        "sell_flask": ("object", 'task = "name,age\\nAda,36\\nAlan,41\\n"\n[test.failing]\ntask = "no table"'),
    }[example]
    schema = f'[input_schema]\ntype = "object"\n[output_schema]\ntype = "{kind}"\n'
    text = text[: text.index("[input_schema]")] + schema + f"\n[test]\n{test}\n"
    manifest.write_text(text.replace("/execute", path))
    market.up.serve(home, command)
    environment = {**market.up.environment, "CRTX_BIN": binary(), "PYTHONPATH": str(PACKAGE / "src")}
    pytest_command = [sys.executable, "-m", "pytest", "--crtx-agent", "-rs", "agent.toml"]
    done = subprocess.run(pytest_command, cwd=home, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout and "failed" not in done.stdout.splitlines()[-1]


@pytest.mark.skipif(shutil.which("node") is None, reason="the service of the example needs Node.js")
def test_the_workflow_for_sellers_tests_an_agent_and_keeps_a_report_that_ci_systems_read(market: Market) -> None:
    workflow = yaml.safe_load((PACKAGE.parent / "agent-test.yml").read_text())
    steps = {step["name"]: step for step in workflow["jobs"]["agent"]["steps"] if "name" in step}
    home = market.up.agent("workflow")
    (home / "result-key.json").unlink()
    environment = {**market.up.environment, "PATH": f"{Path(binary()).parent}:{os.environ['PATH']}"}
    # GitHub runs a step so. What it started ends with it.
    script = "trap 'kill $(jobs -p)' EXIT\n" + steps["Test the agent"]["run"]
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [suite] = ElementTree.parse(home / steps["Keep the report"]["with"]["path"]).getroot()
    checks = {case.attrib["name"]: [child.tag for child in case] for case in suite}
    assert (suite.attrib["name"], int(suite.attrib["tests"]), suite.attrib["failures"]) == ("workflow", len(checks), "0")
    assert checks["tls"] == ["skipped"]
    assert checks["result_hash"] == checks["failure_signature"] == []
