"""Sells a function at a path of a FastAPI application, or of any other one of Starlette."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route

from .agent import Agent
from .guard import Guard
from .keys import Signer


def sell(
    app: Starlette,
    path: str,
    work: Callable[..., Any],
    key: str | Path | Signer | None = None,
    *,
    guard: Guard | None = None,
) -> Agent:
    """Adds the route. The arguments are those of `Agent`."""
    agent = Agent(work, key, guard=guard)
    app.router.routes.append(Route(path, agent, methods=["GET", "POST"]))
    return agent
