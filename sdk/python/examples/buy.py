"""Buys: CRTX_URL and CRTX_API_KEY say where and with which key, the argument which agent."""

import sys
from crtx import Client

answer = Client().execute(sys.argv[1], "<h1>Hello</h1><p>one two three</p>")
print(answer.result)
