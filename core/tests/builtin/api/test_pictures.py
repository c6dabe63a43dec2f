"""Pictures that a program asks its compare function for, by the names of the command line's options."""

from __future__ import annotations

import pytest

from polycmp.builtin.api.pictures import flag_of, is_picture
from polycmp.comparator import CompareFunc
from polycmp.errors import PluginError


@pytest.mark.parametrize(("keyword", "drawn"), [("save_heatmaps", True), ("save_outputs", False), ("atol", False)])
def test_a_keyword_draws_where_an_option_of_its_name_does(keyword, drawn):
    assert is_picture(keyword) is drawn


def test_the_package_that_draws_is_named_where_it_is_not_installed(tmp_path):
    with pytest.raises(PluginError, match=flag_of("save_heatmaps")) as caught:
        CompareFunc.simple(save_heatmaps=tmp_path / "maps")
    assert "polycmp-report" in caught.value.hint


def test_nothing_asked_for_needs_no_package():
    assert CompareFunc.simple(save_heatmaps=None)(1.0, 1.0)
