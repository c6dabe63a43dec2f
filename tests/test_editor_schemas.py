"""The schemas that editors check TOML files with accept what the pages show, and what polycmp writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from editor_schemas import wrong_in
from hypothesis import HealthCheck, given, settings
from in_parts import PARTS, in_parts
from in_process import plugins_installed
from plans import plans_of

from polycmp.plan import to_values

ROOT = Path(__file__).parents[1]
PAGES = {path.relative_to(ROOT).as_posix(): path for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]}
BLOCKS = {
    f"{name}:{number}": text
    for name, path in PAGES.items()
    for number, text in enumerate(re.findall(r"^```toml\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE))
}
SUITES = {name: text for name, text in BLOCKS.items() if "[[case]]" in text}
PIPELINES = {name for name, text in BLOCKS.items() if "[[stage]]" in text}
RUN_FILES = {
    name: text
    for name, text in BLOCKS.items()
    if name not in PIPELINES and re.search(r"^backend = ", text, re.MULTILINE)
}
REGISTRY = plugins_installed()


def test_the_pages_show_both_kinds():
    assert len(SUITES) >= 2
    assert any(name.startswith("docs/command-line.md:") for name in RUN_FILES.keys() - SUITES.keys())


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_on_the_pages_is_accepted(name):
    assert wrong_in(SUITES[name], REGISTRY) == []


@pytest.mark.parametrize("name", RUN_FILES.keys() - SUITES.keys())
def test_every_run_file_on_the_pages_is_accepted(name):
    assert wrong_in(RUN_FILES[name], REGISTRY, "run") == []


@in_parts
@settings(max_examples=50 // PARTS, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans_of(REGISTRY))
def test_every_run_file_that_polycmp_writes_is_accepted(part, plan):
    assert wrong_in(to_values(plan, REGISTRY), REGISTRY, "run") == []
