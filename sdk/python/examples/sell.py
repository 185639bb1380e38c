"""Sells `html_to_text`: uvicorn --app-dir examples sell:app --port 4021"""

from crtx import Agent
from html_to_text import html_to_text

app = Agent(html_to_text, key="result-key.json")
