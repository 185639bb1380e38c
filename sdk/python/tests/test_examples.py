"""The examples are as short as promised, and do what they say."""

from __future__ import annotations

import io
import json
import tokenize
from pathlib import Path

import pytest
from crtx import Refused
from csv_profile import Options, csv_profile
from html_to_text import html_to_text
from support import PACKAGE

EXAMPLES = PACKAGE / "examples"


def lines_of_code(path: Path) -> int:
    """Lines that are neither empty, nor a comment, nor the text that describes the file."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.ENDMARKER}
    code: set[int] = set()
    start = True
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type in skipped:
            continue
        if not (start and token.type == tokenize.STRING):
            code |= set(range(token.start[0], token.end[0] + 1))
        start = False
    return len(code)


@pytest.mark.parametrize("name", ["sell.py", "sell_fastapi.py", "sell_flask.py"])
def test_a_seller_has_at_most_six_lines(name: str) -> None:
    assert lines_of_code(EXAMPLES / name) <= 6


@pytest.mark.parametrize("name", ["buy.py", "buy_async.py"])
def test_a_buyer_has_at_most_five_lines(name: str) -> None:
    assert lines_of_code(EXAMPLES / name) <= 5


def test_html_becomes_the_text_that_a_reader_sees() -> None:
    page = "<html><head><title>t</title><style>p{}</style></head><body><h1>A &amp; B</h1><p>one\n two<br>three</p>"
    assert html_to_text(page + "<script>x()</script><ul><li>a<li>b</ul></body></html>") == "A & B\none two\nthree\na\nb"


def test_a_table_becomes_its_profile() -> None:
    output = csv_profile("name;age\nAda;36\nAlan;41\n;\n", Options(separator=";"))
    assert json.loads(output.result) == {
        "name": {"values": 2, "empty": 1, "different": 2},
        "age": {"values": 2, "empty": 1, "different": 2, "smallest": 36, "largest": 41},
    }
    with pytest.raises(Refused):
        csv_profile("only a head", Options())
