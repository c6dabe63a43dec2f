"""Results as Python programs show and save them."""

from __future__ import annotations

import json

import pytest

from polycmp.errors import PluginError, UsageError
from polycmp.plugins import Registry
from polycmp.report import Fact, Facts, Result, result_as_html, result_as_text, save_result

RESULT = Result(
    "count",
    "failed",
    "FAILED",
    "2 of 3",
    content=(Facts("counts", (Fact("operators", "3"),), ("operators: 3",)),),
    document={"verdict": "failed"},
)


def test_a_text_ends_with_the_sentence_and_has_no_colours():
    text = result_as_text(RESULT)
    assert text.splitlines()[-1] == "FAILED: 2 of 3"
    assert "\x1b" not in text


def test_a_file_has_the_form_that_its_suffix_names(tmp_path):
    save_result(RESULT, str(tmp_path / "r.json"), Registry.discover())
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "failed"


@pytest.mark.parametrize(
    ("name", "error", "says"), [("r.doc", UsageError, ".doc"), ("r.html", PluginError, "polycmp-report")]
)
def test_a_form_that_is_not_there_is_named(tmp_path, name, error, says):
    with pytest.raises(error) as refused:
        save_result(RESULT, str(tmp_path / name), Registry.discover())
    assert says in str(refused.value) + refused.value.hint


def test_without_a_plugin_for_notebooks_there_is_no_html():
    assert result_as_html(RESULT, Registry.discover()) == ""
