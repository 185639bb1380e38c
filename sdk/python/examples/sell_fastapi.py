"""Sells `code_format` next to other routes: uvicorn --app-dir examples sell_fastapi:app --port 4021"""

from crtx.fastapi import sell
from fastapi import FastAPI
from code_format import code_format

app = FastAPI()
sell(app, "/execute", code_format, key="result-key.json")
