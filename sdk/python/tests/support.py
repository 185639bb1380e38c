"""Servers that fail on purpose, and a marketplace on this machine."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent
REPOSITORY = PACKAGE.parent.parent
LIMIT_S = 120.0


@dataclass
class Request:
    """What a client sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Answer:
    """What it gets: the whole answer, or its first bytes and then the end of the connection."""

    status: int = 200
    body: bytes | dict[str, Any] = b""
    headers: dict[str, str] = field(default_factory=dict)
    #: Only so many bytes of the whole answer are sent.
    cut_after: int | None = None
    #: Seconds between single parts of it.
    drip: float = 0.0

    def bytes(self) -> bytes:
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
            **self.headers,
        }
        head = f"HTTP/1.1 {self.status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return (head + "\r\n").encode() + body


CUT = Answer(cut_after=0)


class FaultyServer:
    """Answers each connection's one request with what `handle` returns."""

    def __init__(self, handle: Callable[[Request], Answer]) -> None:
        self.handle = handle
        self.requests: list[Request] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        # Closing alone leaves the thread in `accept`, and the port open.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                request = _read(connection)
                if request is None:
                    return
                self.requests.append(request)
                answer = self.handle(request)
                data = answer.bytes()[: answer.cut_after]
                for at in range(0, len(data), max(len(data) // 8, 1) if answer.drip else max(len(data), 1)):
                    connection.sendall(data[at : at + max(len(data) // 8, 1)] if answer.drip else data)
                    time.sleep(answer.drip)
            except OSError:
                return


def _read(connection: socket.socket) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    method, path, _ = first.split(" ")
    return Request(method, path, headers, body)


def forward(request: Request, base_url: str) -> Answer:
    """What the real service answers."""
    headers = {
        name: value for name, value in request.headers.items() if name not in ("host", "connection", "content-length")
    }
    headers["accept-encoding"] = "identity"
    asked = urllib.request.Request(base_url + request.path, request.body or None, headers, method=request.method)
    try:
        with urllib.request.urlopen(asked, timeout=LIMIT_S) as got:
            return Answer(got.status, got.read(), _kept(got.headers))
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read(), _kept(error.headers))


def _kept(headers: Any) -> dict[str, str]:
    return {name: headers[name] for name in ("retry-after", "x-should-retry") if headers[name]}


def error(code: str, status: int, execution_id: str | None = None, **headers: str) -> Answer:
    """An error as the service writes it."""
    body = {"error": {"code": code, "message": "as asked", "execution_id": execution_id}}
    return Answer(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def binary() -> str:
    """The program `crtx`: what CRTX_BIN names, or the one that was built last."""
    built = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "debug" / "crtx"
    return os.environ.get("CRTX_BIN", str(built))


class Marketplace:
    """A `crtx up` of its own, with the command line of people in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir()
        for path in (folder, self.data):
            # The user that PostgreSQL runs as may enter.
            path.chmod(0o755)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("CRTX_") and name != "DATABASE_URL"
        }
        self.environment = {**kept, "HOME": str(folder), "CRTX_CONFIG_DIR": str(self.data / "config")}
        command = [binary(), "up", "--json", "--port", str(free_port()), "--data-dir", str(self.data)]
        self.log = (folder / "up.log").open("w")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, env=self.environment, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"crtx up ended: {(folder / 'up.log').read_text()}"
        self.info: dict[str, Any] = json.loads(line)
        self.url: str = self.info["base_url"]
        self.sellers: list[subprocess.Popen[bytes]] = []

    def close(self) -> None:
        for process in self.sellers:
            process.kill()
            process.wait()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT_S)
        self.log.close()

    def crtx(self, *arguments: str, wallet: str | None = None, expect: int = 0) -> Any:
        """Runs a command with `--json`."""
        environment = {**self.environment, **({"CRTX_KEYPAIR": str(self.folder / wallet)} if wallet else {})}
        done = subprocess.run(
            [binary(), *arguments, "--json"],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == expect, f"{arguments}: {done.stdout} {done.stderr}"
        return json.loads(done.stdout)

    def person(self, name: str) -> tuple[str, str]:
        """Key file and address of a new wallet with 1 000 USDC."""
        made = self.crtx("wallet", "new", "--out", f"{name}.json")
        self.crtx("wallet", "fund", wallet=f"{name}.json")
        return f"{name}.json", made["address"]

    def agent(self, name: str, **changes: str) -> Path:
        """The folder of an agent whose service is not started yet. Changes replace lines of its manifest by key."""
        self.crtx("agent", "init", name)
        manifest = self.folder / name / "agent.toml"
        text = manifest.read_text()
        for key, value in changes.items():
            text, found = re.subn(rf"(?m)^{key} = .*$", lambda _: f"{key} = {value}", text, count=1)
            assert found == 1, key
        manifest.write_text(text)
        return self.folder / name

    def serve(self, folder: Path, command: list[str]) -> None:
        """Starts the service of an agent on the port of its manifest, and waits until it listens."""
        found = re.search(r'(?m)^endpoint = "http://127.0.0.1:(\d+)/', (folder / "agent.toml").read_text())
        assert found
        port = int(found[1])
        paths = f"{PACKAGE / 'src'}:{PACKAGE / 'examples'}:{PACKAGE / 'tests'}"
        environment = {**self.environment, "PYTHONPATH": paths}
        process = subprocess.Popen([sys.executable, "-m", *command, "--port", str(port)], cwd=folder, env=environment)
        self.sellers.append(process)
        wait_for(lambda: listens(port) or process.poll() is not None)
        assert process.poll() is None, "the seller ended"

    def rpc(self, method: str, params: list[Any]) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(self.info["rpc_url"], body, {"content-type": "application/json"})
        return json.loads(urllib.request.urlopen(request, timeout=LIMIT_S).read())["result"]

    def usdc_of(self, wallet: str) -> int:
        """Base units of USDC that a wallet holds on chain."""
        options = {"encoding": "jsonParsed", "commitment": "confirmed"}
        found = self.rpc("getTokenAccountsByOwner", [wallet, {"mint": self.info["usdc_mint"]}, options])["value"]
        return sum(int(one["account"]["data"]["parsed"]["info"]["tokenAmount"]["amount"]) for one in found)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def wait_for(is_so: Callable[[], bool]) -> None:
    started = time.monotonic()
    while not is_so():
        assert time.monotonic() - started < LIMIT_S, "it never happens"
        time.sleep(0.02)


@contextmanager
def serving(handle: Callable[[Request], Answer]) -> Iterator[FaultyServer]:
    server = FaultyServer(handle)
    try:
        yield server
    finally:
        server.close()
