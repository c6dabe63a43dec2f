"""What stands in a page of a suite."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """What stands in a page: links, texts by element, and whether it is well formed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.rows: list[dict[str, str | None]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "a":
            self.links.append(given["href"])
        if tag == "tr" and "data-mark" in given:
            self.rows.append(given)
        if tag not in {"meta", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
