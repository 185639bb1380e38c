"""Honest work without a model: what is in the columns of a CSV table."""

import csv
import io
import json

from pydantic import BaseModel, ConfigDict, Field

from crtx import Output, Refused


class Options(BaseModel):
    """Parameters of a call."""

    model_config = ConfigDict(extra="forbid")
    separator: str = Field(default=",", min_length=1, max_length=1)


def csv_profile(task: str, options: Options) -> Output:
    """For each column: how many values it has, how many of them differ, and the range of its numbers."""
    rows = list(csv.reader(io.StringIO(task), delimiter=options.separator))
    if len(rows) < 2:
        raise Refused("a table has a head and at least one row")
    columns = {name: [row[at] for row in rows[1:] if at < len(row)] for at, name in enumerate(rows[0])}
    profile = {name: profile_of(values) for name, values in columns.items()}
    return Output(json.dumps(profile, sort_keys=True), steps=[{"read": f"{len(rows) - 1} rows"}])


def profile_of(values: list[str]) -> dict[str, object]:
    filled = [value for value in values if value.strip()]
    profile: dict[str, object] = {
        "values": len(filled),
        "empty": len(values) - len(filled),
        "different": len(set(filled)),
    }
    try:
        numbers = [float(value) for value in filled]
    except ValueError:
        return profile
    return {**profile, "smallest": min(numbers), "largest": max(numbers)} if numbers else profile
