"""The examples are as short as promised, and do what they say."""

from __future__ import annotations

import io
import json
import tokenize
from pathlib import Path

import pytest
from code_format import Layout, code_format
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if a:\n    b()\n", []),
        ("a = 1 \n\tb = 2\r\n", [(1, "white space at the end"), (2, "carriage return"), (2, "wrong indent")]),
        ("a = 12345\nb", [(1, "longer than 8 characters"), (2, "no line break at the end")]),
        ("a\n\n", [(2, "empty line at the end")]),
        ("", []),
    ],
)
def test_a_source_text_breaks_rules_of_its_layout(text: str, expected: list[tuple[int, str]]) -> None:
    result = json.loads(code_format(text, Layout(line_length=8)))
    assert [(found["line"], found["rule"]) for found in result["findings"]] == expected
    assert result["total"] == len(expected)


def test_findings_are_bounded() -> None:
    result = json.loads(code_format(" x\n" * 1_200, Layout(indent="tabs")))
    assert (len(result["findings"]), result["total"]) == (1_000, 1_200)
