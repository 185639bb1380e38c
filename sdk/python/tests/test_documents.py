"""Every block of the documents runs, in their order."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from conftest import Market
from crtx import wire
from support import PACKAGE, REPOSITORY, binary

QUICKSTART = (REPOSITORY / "docs" / "quickstart-buy.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", text)


def section(name: str) -> str:
    """A part of the quickstart, up to the next one of its level."""
    found = re.search(rf"(?ms)^## {name}$(.*?)(?=^## |\Z)", QUICKSTART)
    assert found, name
    return found[1]


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_quickstart_buys(market: Market, tmp_path: Path) -> None:
    (tmp_path / "crtx").symlink_to(binary())
    environment = {**market.up.environment, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    environment["PYTHONPATH"] = str(PACKAGE / "src")
    (shell,) = blocks(section("A key"), "sh")
    assert "http://127.0.0.1:8080" in shell
    shell = shell.replace("http://127.0.0.1:8080", market.url)
    said = run(["sh", "-ec", f'{shell}\necho "last: $CRTX_URL $CRTX_API_KEY"'], environment, tmp_path)
    url, key = said.split("last: ")[1].split()
    assert url == market.url and wire.session_key(key)
    # `test.sh` installs the package as it is published.
    assert blocks(section("Python"), "sh") == ["pip install crtx\n"]
    python = "\n".join(blocks(section("Python"), "python"))
    environment |= {"CRTX_URL": url, "CRTX_API_KEY": key}
    printed = run([sys.executable, "-c", python], environment, tmp_path).splitlines()
    assert '"words":3' in printed[0] and "signature" in printed[0]
    assert "out of escrow" in printed[1] and '"words":3' in printed[2] and printed[3].startswith("['{")


def test_the_blocks_of_the_package_page_run(market: Market, tmp_path: Path) -> None:
    buy, sell, route = blocks((PACKAGE / "README.md").read_text(), "python")
    buy = buy.replace('"https://api.example", api_key="crtx_test_…"', "")
    assert "Client()" in buy and "AGENT_ID" in buy
    buyer = {**os.environ, "CRTX_URL": market.url, "CRTX_API_KEY": market.api_key, "PYTHONPATH": str(PACKAGE / "src")}
    assert run([sys.executable, "-c", buy.replace("AGENT_ID", market.agent_id)], buyer, tmp_path).startswith("Hello\n")
    market.up.crtx("wallet", "new", "--out", str(tmp_path / "result-key.json"))
    python = f"from fastapi import FastAPI\n{sell}\nasgi, app = app, FastAPI()\n{route}\nprint(asgi.address)"
    assert wire.address_bytes(run([sys.executable, "-c", python], buyer, tmp_path).split()[0])


def test_commands_of_the_documents_name_files_that_exist() -> None:
    for block in blocks((PACKAGE / "README.md").read_text(), "sh"):
        for word in shlex.split(block):
            assert not word.endswith((".py", ".sh")) or (PACKAGE / word).exists(), word
