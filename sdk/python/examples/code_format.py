"""Honest work without a model: where a source text breaks the rules of its layout."""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_FINDINGS = 1_000


class Layout(BaseModel):
    """Parameters of a call."""

    model_config = ConfigDict(extra="forbid")
    indent: Literal["spaces", "tabs"] = "spaces"
    line_length: int = Field(default=120, ge=1, le=10_000)


def code_format(task: str, layout: Layout) -> str:
    """What is wrong in which line: the first findings, and how many there are."""
    lines = task.split("\n")
    # What follows the last line break is a line only if there is something.
    ended = lines[-1] == ""
    found = [
        {"line": at, "rule": rule}
        for at, line in enumerate(lines[:-1] if ended else lines, 1)
        for rule in broken(line, layout)
    ]
    if not ended:
        found.append({"line": len(lines), "rule": "no line break at the end"})
    elif lines[-2:] == ["", ""]:
        found.append({"line": len(lines) - 1, "rule": "empty line at the end"})
    return json.dumps({"findings": found[:MAX_FINDINGS], "total": len(found)})


def broken(line: str, layout: Layout) -> list[str]:
    code = line.removesuffix("\r")
    indent = code[: len(code) - len(code.lstrip(" \t"))]
    rules = {
        "carriage return": code != line,
        "white space at the end": code != code.rstrip(),
        "wrong indent": (" " if layout.indent == "tabs" else "\t") in indent,
        f"longer than {layout.line_length} characters": len(code) > layout.line_length,
    }
    return [rule for rule, is_broken in rules.items() if is_broken]
