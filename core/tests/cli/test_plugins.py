"""`polycmp plugins list`: what is installed, and whether it can be used."""

from __future__ import annotations

import json
from importlib.util import find_spec


def test_the_list_of_plugins(polycmp):
    rows = {row["name"]: row for row in json.loads(polycmp("plugins", "list", "--json").out)["plugins"]}
    assert {name for name, row in rows.items() if row["package"] != "polycmp"} == {"toybox"}
    states = {name: row["state"] for name, row in rows.items() if row["package"] == "polycmp"}
    assert states.pop("formats") == ("ok" if find_spec("safetensors") else "incomplete")
    assert set(states.values()) == {"ok"}
    assert (rows["toybox"]["package"], rows["toybox"]["version"], rows["toybox"]["state"]) == (
        "toybox", "1.0", "incomplete",
    )  # fmt: skip
    provided = {(item["kind"], item["name"]) for item in rows["toybox"]["provides"]}
    assert provided >= {("runner", "toy"), ("loader", "pack"), ("command", "toy ops"), ("compare_func", "signs")}
    assert "a_library_that_nobody_has" in polycmp("plugins", "list").out


def test_plugins_that_are_switched_off(polycmp, tmp_path, monkeypatch):
    monkeypatch.setenv("POLYCMP_PLUGINS", "none")
    rows = json.loads(polycmp("plugins", "list", "--json").out)["plugins"]
    assert [row["state"] for row in rows if row["name"] == "toybox"] == ["disabled"]
