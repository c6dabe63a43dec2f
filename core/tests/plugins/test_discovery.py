"""What installed packages say of themselves is read, damaged packages are left out, and nothing of them is imported."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder

import pytest
from fakes import BROKEN, runner

from polycmp.errors import PluginError
from polycmp.plugins import Registry
from polycmp.plugins.discovery import discover


def record_of(name):
    [record] = [item for item in Registry.discover({}).records if item.name == name]
    return record


def write(folder, name="Some.Backend", version="1.2", *, plugin="some"):
    """Write a package's metadata as installers do."""
    info = folder / f"{name.replace('.', '_').lower()}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", "Requires-Dist: numpy", "License: x"]
    described = "\n".join(
        [*lines, "Requires-Dist: polycmp<0.2,>=0.1.0.dev0", "", "Name: no field", "", "Requires-Dist: no"]
    )
    (info / "METADATA").write_text(described)
    (info / "entry_points.txt").write_text(
        f"[console_scripts]\nx = x:y\n\n[polycmp]\n{plugin} = {plugin}_backend.plugin\n\n[other]\na = b\n"
    )
    return info


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder that is all there is on the path; nothing else finds packages."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    return tmp_path


def found():
    """Return what is known of the installed plugins."""
    return [candidate for candidate in discover({}) if candidate.record.distribution != "polycmp"]


def test_a_plugin_is_known_by_the_metadata_of_its_package(path):
    write(path)
    [candidate] = found()
    record = candidate.record
    assert (record.name, record.distribution, record.version) == ("some", "Some.Backend", "1.2")
    assert (record.module, record.state) == ("some_backend.plugin", "ok")
    assert candidate.requirements == ("numpy", "polycmp<0.2,>=0.1.0.dev0")


def test_the_first_of_several_copies_hides_the_others(path, monkeypatch):
    write(path / "first")
    write(path / "second", "some-backend", "2.0")
    monkeypatch.setattr(sys, "path", [str(path / "missing"), str(path / "first"), str(path / "second")])
    assert [candidate.record.version for candidate in found()] == ["1.2"]


@pytest.mark.parametrize("damage", ["no metadata", "not utf-8", "no name", "entry points that are none"])
def test_a_damaged_package_hides_no_other(path, damage):
    info = write(path, "damaged", plugin="damaged")
    if damage == "no metadata":
        (info / "METADATA").unlink()
    elif damage == "not utf-8":
        (info / "METADATA").write_bytes(b"Name: \xff\n")
    elif damage == "no name":
        (info / "METADATA").write_text("Version: 1\n")
    else:
        (info / "entry_points.txt").write_bytes(b"[polycmp]\n\xff\xfe = \n")
    (path / "thing.dist-info").write_text("no folder")
    write(path)
    assert "some" in [candidate.record.name for candidate in found() if candidate.record.state == "ok"]
    assert "damaged" not in [candidate.record.name for candidate in found() if candidate.record.state == "ok"]


def test_requirements_of_extras_on_the_core_need_no_parser_of_requirements(path, monkeypatch):
    info = write(path)
    metadata = info / "METADATA"
    extra = 'Requires-Dist: polycmp[testing]<0.2,>=0.1.0.dev0; extra == "testing"'
    metadata.write_text(metadata.read_text().replace("License: x", extra))
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    assert [candidate.record.state for candidate in found() if candidate.record.name == "some"] == ["ok"]


class TestVersionRange:
    @pytest.mark.parametrize(
        ("requirement", "state"),
        [
            ("polycmp>=0.1.0.dev0,<0.2", "ok"),
            ("polycmp", "ok"),
            ("PolyCmp (>=0.0.1)", "ok"),
            ("polycmp>=99; python_version < '3'", "ok"),
            ("polycmp>=99; extra == 'future'", "ok"),
            ("polycmp-onnx>=99", "ok"),
            ("polycmp>=99", "excluded"),
            ("polycmp[plot]<0.1.0.dev0", "excluded"),
            ("polycmp >=>= 1", "broken"),
        ],
    )
    def test_is_read_from_metadata(self, site, requirement, state):
        site.plugin("ranged", runner("ranged"), requires=[requirement])
        assert record_of("ranged").state == state

    def test_excluded_plugin_is_never_imported(self, site):
        site.plugin("too_new", BROKEN["too_new"], requires=["polycmp>=99"])
        record = record_of("too_new")
        assert record.state == "excluded"
        assert "needs polycmp>=99, and this is polycmp 0.1" in record.reason
        assert "fake_too_new" not in sys.modules


class TestEnvironment:
    def test_none_leaves_only_the_core(self, site):
        site.plugin("good", runner("good"))
        registry = Registry.discover({"POLYCMP_PLUGINS": "none"})
        assert not registry.runners
        assert "simple" in registry.compare_funcs
        assert "fake_good" not in sys.modules
        with pytest.raises(PluginError, match=r"(?s)disabled.*POLYCMP_PLUGINS=none.*unset POLYCMP_PLUGINS"):
            registry.find_runner("good")

    def test_list_of_names_leaves_those(self, site):
        site.plugin("good", runner("good"))
        site.plugin("other", runner("other"))
        site.plugin("third", runner("third"))
        registry = Registry.discover({"POLYCMP_PLUGINS": "good, third"})
        assert sorted(registry.runners) == ["good", "third"]
        assert "fake_other" not in sys.modules

    def test_name_that_nothing_has_is_a_row(self, site):
        registry = Registry.discover({"POLYCMP_PLUGINS": "godo"})
        [row] = [item for item in registry.records if item.name == "godo"]
        assert row.state == "broken"
        assert "no installed package has it" in row.reason
