"""Past runs, drawn on the pages."""

from __future__ import annotations


def test_the_pages_draw_past_runs(ran):
    text = (ran.latest / "index.html").read_text()
    assert "2 runs, the last: failed" in text
    assert text.count('class="trend"') == 3
