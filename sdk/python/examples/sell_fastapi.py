"""Sells `html_to_text` next to other routes: uvicorn --app-dir examples sell_fastapi:app --port 4021"""

from crtx.fastapi import sell
from fastapi import FastAPI
from html_to_text import html_to_text

app = FastAPI()
sell(app, "/execute", html_to_text, key="result-key.json")
