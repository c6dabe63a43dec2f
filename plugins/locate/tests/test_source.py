"""Modules of PyTorch that a file names, whatever it holds in their place."""

from __future__ import annotations

import pytest

from polycmp.graph import GraphNode
from polycmp_locate.pairing.source import NAME_SCOPES, source_of


@pytest.mark.parametrize("scopes", ["[", "17", "{}", "['']", "[]"])
def test_what_is_no_list_of_modules_names_none(scopes):
    assert source_of(GraphNode("Mul", "m", metadata={NAME_SCOPES: scopes})) == ""
