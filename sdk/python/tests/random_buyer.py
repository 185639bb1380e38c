"""A buyer's process, which a test kills: makes the calls whose keys it reads, each until it has its result.

Arguments: base URL, node, agent, calls at once. Reads one JSON list of pairs of key and task, and writes one JSON line for
each result.
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from crtx import Client, OutcomeUnknown, Result, _core, _verify


def insist(client: Client, agent_id: str, key: str, task: str) -> Result:
    """One call by a caller that repeats it with its key, as often as it takes."""
    while True:
        try:
            return client.execute(agent_id, task, idempotency_key=key)
        except OutcomeUnknown as unknown:
            assert key == unknown.idempotency_key
        except Exception as refused:
            # Nothing was charged.
            assert type(refused).__name__ in ("RateLimited", "ServiceUnavailable", "ConnectionFailed"), repr(refused)


def main() -> None:
    base_url, rpc_url, agent_id, at_once = sys.argv[1:]
    for module in (_core, _verify):
        vars(module)["backoff"] = lambda failures: 0.01
    with Client(base_url, os.environ["CRTX_API_KEY"], rpc_url=rpc_url) as client:

        def buy(call: tuple[str, str]) -> None:
            key, task = call
            try:
                bought = insist(client, agent_id, key, task)
                line = {"key": key, "result": bought.result, "execution_id": str(bought.execution_id)}
            except Exception as error:
                line = {"key": key, "error": repr(error)}
            # One write, so that lines of two threads do not mix.
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()

        with ThreadPoolExecutor(int(at_once)) as threads:
            list(threads.map(buy, json.load(sys.stdin)))


if __name__ == "__main__":
    main()
