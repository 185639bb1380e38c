"""The example seller with FastAPI, which notes each task that it works on."""

import hashlib
from pathlib import Path

from crtx.fastapi import sell
from fastapi import FastAPI
from html_to_text import html_to_text


def counted(task: str) -> str:
    with Path("worked.txt").open("a") as worked:
        worked.write(hashlib.sha256(task.encode()).hexdigest() + "\n")
    return html_to_text(task)


app = FastAPI()
sell(app, "/execute", counted, key="result-key.json")
