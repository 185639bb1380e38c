"""Each library's buyer buys from each library's seller: the examples, as they are committed.

The Rust ones are programs beside `crtx`, which `tests/e2e` builds; the TypeScript ones are compiled here against the built package.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest
from conftest import Market
from support import PACKAGE, REPOSITORY, binary, free_port, listens, wait_for

TYPESCRIPT = REPOSITORY / "sdk/typescript"
LANGUAGES = ("python", "typescript", "rust")
#: The port that the Rust example has in its code.
RUST_PORT = 3402

LISTING = """[input_schema]
type = "object"
[output_schema]
type = {type}

[test]
task = "name,age\\nAda,36\\nAlan,41"
"""


def rust(name: str) -> str:
    program = Path(binary()).absolute().parent / name
    assert program.is_file(), f"cargo build --workspace --bins makes {program}"
    return str(program)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The TypeScript examples as JavaScript, in a folder in which the package is installed."""
    assert (TYPESCRIPT / "dist/index.js").is_file(), "`npm run build` in sdk/typescript makes the package"
    folder = tmp_path_factory.mktemp("typescript")
    (folder / "node_modules/@crtx").mkdir(parents=True)
    (folder / "node_modules/@crtx/sdk").symlink_to(TYPESCRIPT)
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    for example in (TYPESCRIPT / "examples").glob("*.ts"):
        (folder / example.name).write_bytes(example.read_bytes())
    types = ["--types", "node", "--typeRoots", str(TYPESCRIPT / "node_modules/@types")]
    options = ["--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", *types]
    subprocess.run([TYPESCRIPT / "node_modules/.bin/tsc", *options, "seller.ts", "buyer.ts"], cwd=folder, check=True)
    return folder


def test_each_buyer_buys_from_each_seller(market: Market, compiled: Path) -> None:
    up, python = market.up, {"PYTHONPATH": f"{PACKAGE / 'src'}:{PACKAGE / 'examples'}"}
    sellers = {
        "python": [sys.executable, "-m", "uvicorn", "sell:app", "--log-level", "warning", "--port"],
        "typescript": ["node", str(compiled / "seller.js")],
        "rust": [rust("rust-seller")],
    }
    buyers = {
        "python": [sys.executable, str(PACKAGE / "examples/buy.py")],
        "typescript": ["node", str(compiled / "buyer.js")],
        "rust": [rust("rust-buyer")],
    }
    assert not listens(RUST_PORT), f"another program listens at port {RUST_PORT}"

    def sell(language: str) -> str:
        home = up.agent(f"pair-{language}", price_usdc='"0.01"')
        port = RUST_PORT if language == "rust" else free_port()
        manifest = home / "agent.toml"
        text = manifest.read_text()
        text = text[: text.index("[input_schema]")]
        text = re.sub(r"(?m)^endpoint = .*$", f'endpoint = "http://127.0.0.1:{port}/"', text)
        # What the Python seller returns is a text; the others return JSON.
        manifest.write_text(text + LISTING.format(type='"string"' if language == "python" else '"object"'))
        command = sellers[language] + ([str(port)] if language == "python" else [])
        environment = {**up.environment, **python, "PORT": str(port)}
        process = subprocess.Popen(command, cwd=home, env=environment)
        up.sellers.append(process)
        wait_for(lambda: listens(port) or process.poll() is not None)
        assert process.poll() is None, f"the seller in {language} ended"
        report = up.crtx("agent", "test", home.name)
        assert report["passed"], report
        agent_id: str = up.crtx("agent", "publish", home.name, "--yes", wallet="creator.json")["agent_id"]
        return agent_id

    def buy(buyer: str, agent_id: str) -> str:
        named = {"CRTX_URL": market.url, "CRTX_API_KEY": key, "CRTX_RPC_URL": up.info["rpc_url"], "AGENT": agent_id}
        command = buyers[buyer] + ([agent_id] if buyer == "python" else [])
        done = subprocess.run(
            command, env={**os.environ, **python, **named}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    made = up.crtx("key", "create", "pairs", "--per-call", "0.10", "--total", "1", "--yes", wallet="caller.json")
    key, before = made["api_key"], up.usdc_of(market.buyer)
    with ThreadPoolExecutor(len(LANGUAGES) ** 2) as threads:
        agents = dict(zip(LANGUAGES, threads.map(sell, LANGUAGES), strict=True))
        pairs = list(product(LANGUAGES, LANGUAGES))
        printed = dict(zip(pairs, threads.map(lambda pair: buy(pair[0], agents[pair[1]]), pairs), strict=True))
    for (buyer, seller), text in printed.items():
        table = buyer != "python"
        expected = {
            "python": "name,age Ada,36 Alan,41" if table else "Hello\none two three",
            "typescript": '{"rows":2,"columns":[{"name":"name",' if table else '{"rows":0,"columns":[{"name":"<h1>Hello',
            "rust": '{"rows":3,"columns":2,' if table else '{"rows":1,"columns":1,',
        }[seller]
        assert text.startswith(expected), f"{buyer} from {seller}: {text}"
    assert up.usdc_of(market.buyer) == before - len(pairs) * 10_000, "each call is charged once, on chain"
