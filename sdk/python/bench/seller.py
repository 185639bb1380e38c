"""What the seller's side adds to a request for a result of 10 kB, next to the bare framework. Prints a table.

    python bench/seller.py [requests]

Both run in the same application server and are asked in turns, one request after the other over one connection, so
that a busy machine slows both. The bare framework answers with as many bytes of result, and signs nothing.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import socket
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from crtx import Agent, KeyPair, wire
from crtx.fastapi import sell as sell_fastapi
from crtx.flask import sell as sell_flask
from fastapi import FastAPI
from fastapi import Request as FastAPIRequest
from fastapi import Response as FastAPIResponse
from flask import Flask
from flask import Response as FlaskResponse
from flask import request as flask_request
from nacl.signing import SigningKey
from werkzeug.serving import WSGIRequestHandler, make_server

KEY = KeyPair(SigningKey(bytes(range(32))))
RECORD = wire.base58(bytes(range(32, 64)))
RESULT = "x" * 10_000
BARE = json.dumps({"result": RESULT}).encode()


async def work(task: str) -> str:
    return RESULT


def blocking_work(task: str) -> str:
    return RESULT


async def bare_asgi(scope: Any, receive: Any, send: Any) -> None:
    while scope["type"] == "http" and (await receive()).get("more_body"):
        pass
    if scope["type"] == "http":
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(BARE)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": BARE})


def fastapi_apps() -> tuple[FastAPI, FastAPI]:
    bare, selling = FastAPI(), FastAPI()

    @bare.post("/execute")
    async def execute(request: FastAPIRequest) -> FastAPIResponse:
        await request.body()
        return FastAPIResponse(BARE, media_type="application/json")

    sell_fastapi(selling, "/execute", work, KEY)
    return bare, selling


def flask_apps() -> tuple[Flask, Flask]:
    bare, selling = Flask("bare"), Flask("selling")

    @bare.post("/execute")
    def execute() -> FlaskResponse:
        flask_request.get_data()
        return FlaskResponse(BARE, content_type="application/json")

    sell_flask(selling, "/execute", work, KEY)
    return bare, selling


def serve_asgi(app: Callable[[], Any], port: int) -> None:
    uvicorn.run(app(), port=port, log_level="error")


def serve_flask(app: Callable[[], Flask], port: int) -> None:
    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, *_: Any) -> None:
            pass

    make_server("127.0.0.1", port, app(), threaded=True, request_handler=Quiet).serve_forever()


def body() -> bytes:
    request = {
        "execution_id": str(uuid.uuid4()),
        "task": "a task",
        "parameters": {},
        "user_pubkey": RECORD,
        "timeout_seconds": 60,
        "execution_record": RECORD,
        "opened_at_unix_s": 1_790_000_000,
    }
    return json.dumps(request).encode()


def one(connection: http.client.HTTPConnection) -> float:
    sent = body()
    started = time.perf_counter()
    connection.request("POST", "/execute", sent, {"content-type": "application/json"})
    response = connection.getresponse()
    answer = response.read()
    took = (time.perf_counter() - started) * 1_000
    assert response.status == 200 and len(answer) > 10_000, answer[:200]
    return took


def connect(port: int) -> http.client.HTTPConnection:
    for _ in range(500):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.connect()
            assert connection.sock is not None
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        except OSError:
            time.sleep(0.02)
    raise TimeoutError


def cpu_ms(pid: int | None) -> float:
    """Processor time that a process has used: what a busy machine does not change."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[int(len(values) * part)]


def measure(
    name: str, serve: Callable[[Callable[[], Any], int], None], apps: list[Callable[[], Any]], count: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as a, socket.create_server(("127.0.0.1", 0)) as b:
        ports = [a.getsockname()[1], b.getsockname()[1]]
    context = multiprocessing.get_context("fork")
    servers = [
        context.Process(target=serve, args=(app, port), daemon=True) for app, port in zip(apps, ports, strict=True)
    ]
    for server in servers:
        server.start()
    connections = [connect(port) for port in ports]
    times: list[list[float]] = [[], []]
    before: list[float] = []
    for number in range(count + 100):
        if number == 100:
            before = [cpu_ms(server.pid) for server in servers]
        for at, connection in enumerate(connections):
            took = one(connection)
            if number >= 100:
                times[at].append(took)
    used = [(cpu_ms(server.pid) - start) / count for server, start in zip(servers, before, strict=True)]
    for server in servers:
        server.terminate()
        server.join()
    bare, selling = times
    p50 = statistics.median(selling) - statistics.median(bare)
    p99 = percentile(selling, 0.99) - percentile(bare, 0.99)
    cpu = used[1] - used[0]
    row = [statistics.median(bare), percentile(bare, 0.99), statistics.median(selling), percentile(selling, 0.99)]
    print(f"| {name} | " + " | ".join(f"{value:.2f} ms" for value in (*row, p50, p99, cpu)) + " |", flush=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    print("| Server | Bare p50 | Bare p99 | Seller p50 | Seller p99 | Added p50 | Added p99 | Added processor time |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    measure("ASGI, coroutine", serve_asgi, [lambda: bare_asgi, lambda: Agent(work, KEY)], count)
    measure("ASGI, function in a thread", serve_asgi, [lambda: bare_asgi, lambda: Agent(blocking_work, KEY)], count)
    measure("FastAPI, coroutine", serve_asgi, [lambda: fastapi_apps()[0], lambda: fastapi_apps()[1]], count)
    measure("Flask, coroutine", serve_flask, [lambda: flask_apps()[0], lambda: flask_apps()[1]], count)


if __name__ == "__main__":
    main()
