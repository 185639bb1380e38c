"""Sells a function at a path of a Flask application."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from flask import Flask, Response, request

from .agent import MAX_REQUEST_BYTES, Agent
from .guard import Guard
from .keys import Signer

T = TypeVar("T")


def sell(
    app: Flask,
    path: str,
    work: Callable[..., Any],
    key: str | Path | Signer | None = None,
    *,
    guard: Guard | None = None,
) -> Agent:
    """Adds the route. The arguments are those of `Agent`. Where a server has several processes, `guard` must be shared
    between them, such as a `SqliteGuard`."""
    agent, loop = Agent(work, key, guard=guard), _Loop()

    def answer() -> Response:
        if request.method == "GET":
            return Response(json.dumps({"result_key": agent.address}), content_type="application/json")
        request.max_content_length = MAX_REQUEST_BYTES
        status, body = loop.run(agent.answer(request.get_data()))
        return Response(body, status, content_type="application/json")

    app.add_url_rule(path, f"crtx:{path}", answer, methods=["GET", "POST"])
    return agent


class _Loop:
    """An event loop in a thread, because a run goes on when its request is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            # A server forks after the application is made, and threads are not forked.
            if self._loop is None or self._pid != os.getpid():
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                threading.Thread(target=self._loop.run_forever, name="crtx", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
