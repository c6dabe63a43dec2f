"""HTML elements and pages: everything is text that these functions did not make."""

from __future__ import annotations

import base64
import hashlib
import re

from polycmp.report.elements import Markup, escape, join, page, tag


def test_text_is_escaped_once_and_elements_stay():
    assert escape('<a href="x">&') == "&lt;a href=&quot;x&quot;&gt;&amp;"
    assert tag("p", "<b>", tag("b", "&"), None) == "<p>&lt;b&gt;<b>&amp;</b></p>"
    assert escape(escape("<")) == "&lt;"
    assert join("<", Markup("<br>"), None, 3) == "&lt;<br>3"
    assert escape("a\x00\u202eb") == "a\ufffd\ufffdb"


def test_attributes_and_elements_without_content():
    element = tag("input", type="checkbox", class_="x", data_label='"', checked=True, hidden=False, title=None)
    assert element == '<input type="checkbox" class="x" data-label="&quot;" checked>'


def test_a_page_runs_its_own_scripts_alone():
    scripts = ["let a = 1 < 2;", "a + 1;"]
    text = page("<t>", tag("p", "&"), style="p > b {}", scripts=scripts)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">')
    policy = re.search(r'Policy" content="([^"]*)"', text)[1]
    for code in scripts:
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"&#x27;sha256-{digest}&#x27;" in policy
        assert f"<script>{code}</script>" in text
    assert "<title>&lt;t&gt;</title><style>p > b {}</style></head><body><p>&amp;</p>" in text
    assert "script-src" not in page("t", style="")
