"""Installed packages by the modules that they bring."""

from __future__ import annotations

from importlib import metadata

import pytest
from fakes import FakeSite

from polycmp.plugins import packages_of_modules


def test_packages_are_those_that_the_standard_library_names():
    expected = {module: sorted(packages) for module, packages in metadata.packages_distributions().items()}
    packages = packages_of_modules(expected)
    assert {module: sorted(packages[module]) for module in expected} == expected
    assert {"numpy", "pytest"} <= packages.keys()


@pytest.mark.parametrize("listing", ["top_level.txt", "RECORD"])
def test_a_module_belongs_to_every_package_that_lists_it(tmp_path, monkeypatch, listing):
    site = FakeSite(tmp_path / "site")
    for package in ("first", "second"):
        lines = {"top_level.txt": "shared\n", "RECORD": f"shared/{package}.py,,\nalone_{package}.py,,\n"}
        site.install(package, {}, {f"{package}-1.0.dist-info/{listing}": lines[listing]})
    monkeypatch.syspath_prepend(str(site.folder))
    packages = packages_of_modules(["shared", "share", "nobodys"])
    assert {module: sorted(names) for module, names in packages.items()} == {"shared": ["first", "second"]}
    assert packages_of_modules(["alone_first"]) == ({"alone_first": ["first"]} if listing == "RECORD" else {})
