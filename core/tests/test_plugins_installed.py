"""Installed packages are found in folders, and wherever else `importlib.metadata` finds some."""

from __future__ import annotations

import sys
import zipfile
from importlib.machinery import PathFinder
from importlib.metadata import DistributionFinder

import pytest

from polycmp.plugins import installed
from polycmp.plugins.installed import Package, packages_with

GROUP = "polycmp.test_group"


def write(folder, name="Some.Backend", version="1.2", *, entry_points=None, kind="dist-info", metadata=None):
    """Write a package's metadata as installers do."""
    info = folder / f"{name.replace('.', '_').lower()}-{version}.{kind}"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", "Requires-Dist: numpy", "License: x"]
    described = "\n".join([*lines, "Requires-Dist: polycmp<0.2,>=0.1", "", "Name: no field", "", "Requires-Dist: no"])
    file = {"dist-info": "METADATA", "egg-info": "PKG-INFO"}[kind]
    (info / file).write_bytes((described if metadata is None else metadata).encode())
    if entry_points is None:
        entry_points = (
            f"[console_scripts]\nx = x:y\n\n[{GROUP}]\n# a remark = none\nsome = some_backend.plugin\n[other]\na = b\n"
        )
    (info / "entry_points.txt").write_bytes(entry_points.encode())
    return info


FOUND = Package("Some.Backend", "1.2", ("numpy", "polycmp<0.2,>=0.1"), (("some", "some_backend.plugin"),))


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder that is all there is on the path; nothing else finds packages."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    return tmp_path


@pytest.mark.parametrize("kind", ["dist-info", "egg-info"])
@pytest.mark.parametrize("anywhere", [False, True])
def test_a_package_says_the_same_by_both_ways(path, monkeypatch, kind, anywhere):
    write(path, kind=kind)
    write(path, "unrelated", entry_points="[console_scripts]\nx = x:y\n")
    monkeypatch.setattr(installed, "_are_folders", lambda: not anywhere)
    assert list(packages_with(GROUP)) == [FOUND]


def test_folders_are_read_without_the_library(path, monkeypatch):
    write(path)
    monkeypatch.setitem(sys.modules, "importlib.metadata", None)
    assert list(packages_with(GROUP)) == [FOUND]


@pytest.mark.parametrize("ending", ["zip", "egg"])
def test_packages_in_archives_are_found(path, monkeypatch, ending):
    info = write(path / "inside")
    archive = path / f"packages.{ending}"
    prefix = info.name if ending == "zip" else "EGG-INFO"
    with zipfile.ZipFile(archive, "w") as file:
        for item in info.iterdir():
            name = "PKG-INFO" if ending == "egg" and item.name == "METADATA" else item.name
            file.write(item, f"{prefix}/{name}")
    monkeypatch.setattr(sys, "path", [str(archive)])
    assert list(packages_with(GROUP)) == [FOUND]


def test_packages_that_a_finder_of_others_brings_are_found(path, monkeypatch):
    write(path / "elsewhere")

    class Finder(DistributionFinder):
        def find_spec(self, *_args):
            return None

        def find_distributions(self, context=None):
            return PathFinder.find_distributions(DistributionFinder.Context(path=[str(path / "elsewhere")]))

    monkeypatch.setattr(sys, "meta_path", [PathFinder, Finder()])
    assert list(packages_with(GROUP)) == [FOUND]


def test_the_first_of_several_copies_hides_the_others(path, monkeypatch):
    write(path / "first")
    write(path / "second", "some-backend", "2.0")
    monkeypatch.setattr(sys, "path", [str(path / "missing"), str(path / "first"), str(path / "second")])
    assert [package.version for package in packages_with(GROUP)] == ["1.2"]


@pytest.mark.parametrize("damage", ["no metadata", "not utf-8", "a file"])
def test_what_cannot_be_read_is_left_out(path, damage):
    info = write(path, "damaged")
    if damage == "no metadata":
        (info / "METADATA").unlink()
    elif damage == "not utf-8":
        (info / "METADATA").write_bytes(b"Name: \xff\n")
    (path / "thing.dist-info").write_text("no folder")
    write(path)
    expected = ["damaged", "Some.Backend"] if damage == "a file" else ["Some.Backend"]
    assert sorted(package.name for package in packages_with(GROUP)) == sorted(expected)


def test_lines_may_end_as_on_windows(path):
    info = write(path)
    for item in info.iterdir():
        item.write_bytes(item.read_bytes().replace(b"\n", b"\r\n"))
    assert list(packages_with(GROUP)) == [FOUND]
