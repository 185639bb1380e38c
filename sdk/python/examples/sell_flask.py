"""Sells `csv_profile` with Flask: flask --app examples/sell_flask run --port 4021"""

from crtx.flask import sell
from csv_profile import csv_profile
from flask import Flask

app = Flask(__name__)
sell(app, "/execute", csv_profile, key="result-key.json")
