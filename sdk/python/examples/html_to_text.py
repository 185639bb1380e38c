"""Honest work without a model: the readable text of an HTML page."""

from html.parser import HTMLParser

BLOCKS = {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "pre", "blockquote"}
UNSEEN = {"script", "style", "head", "template", "noscript"}


class Reader(HTMLParser):
    """Collects the text that a reader sees, with a line for each block."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.unseen = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.unseen += tag in UNSEEN
        if tag in BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self.unseen -= tag in UNSEEN and self.unseen > 0
        if tag in BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.parts.append(" ".join(data.split("\n")))


def html_to_text(task: str) -> str:
    """The text of the page, without empty lines."""
    reader = Reader()
    reader.feed(task)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return "\n".join(line for line in lines if line)
