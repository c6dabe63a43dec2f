from __future__ import annotations

import sys
from importlib import invalidate_caches

import pytest
from fakes import BROKEN, REASONS, FakeSite, install_broken, runner

from polycmp.errors import PluginError, UsageError
from polycmp.plugins import Registry, missing_modules
from polycmp.plugins.registry import missing_phrase
from polycmp.spec import RunnerSpec


def record_of(name, environ=None):
    [record] = [item for item in Registry.discover(environ or {}).records if item.name == name]
    return record


class TestDiscovery:
    def test_imports_no_plugin_before_contributions_are_needed(self, site):
        site.plugin("good", runner("good"))
        registry = Registry.discover({})
        assert "good" in {item.record.name for item in registry.candidates}
        assert "fake_good" not in sys.modules
        assert "good" in registry.runners
        assert "fake_good" in sys.modules

    def test_says_whose_a_contribution_is(self, site):
        site.plugin("good", runner("good"), version="3.1")
        found = Registry.discover({}).find_runner("good")
        assert (found.kind, found.name, found.plugin) == ("runner", "good", "good")
        assert (found.distribution, found.version) == ("fake-good", "3.1")

    def test_core_contributes_through_the_same_door_and_comes_first(self, site):
        first = Registry.discover({}).records[0]
        assert (first.name, first.module, first.state) == ("polycmp", "polycmp.builtin.plugin", "ok")
        assert "simple" in Registry.discover({}).compare_funcs

    def test_first_copy_of_a_distribution_on_the_path_hides_the_others(self, site, tmp_path, monkeypatch):
        other = FakeSite(tmp_path / "other")
        other.plugin("good", runner("good"), version="0.1")
        monkeypatch.syspath_prepend(str(other.folder))
        site.plugin("good", runner("good"), version="0.2")
        assert record_of("good").version == "0.1"
        assert record_of("good").state == "ok"

    def test_unreadable_metadata_of_one_hurts_nobody(self, site):
        site.plugin("good", runner("good"))
        site.plugin("torn", runner("torn"))
        (info,) = site.folder.glob("fake_torn-*.dist-info")
        (info / "entry_points.txt").write_bytes(b"[polycmp]\n\xff\xfe = = x\n")
        assert "good" in Registry.discover({}).runners


class TestBrokenPlugins:
    def test_each_has_its_reason_and_the_healthy_one_works(self, site):
        install_broken(site)
        site.plugin("good", runner("good"))
        registry = Registry.discover({})
        by_name = {item.name: item for item in registry.records}
        for name, (state, reason) in REASONS.items():
            assert by_name[name].state == state
            assert reason in by_name[name].reason
            assert by_name[name].contributions == ()
        assert by_name["good"].state == "ok"
        assert "good" in registry.runners

    @pytest.mark.parametrize("name", list(BROKEN))
    def test_asked_for_says_what_whose_why_and_next(self, site, name):
        install_broken(site)
        with pytest.raises(PluginError) as caught:
            Registry.discover({}).find_runner(name)
        error = caught.value
        assert f"backend '{name}' is not available" in error.what
        assert f"fake-{name.replace('_', '-')} 1.0" in error.whose
        assert REASONS[name][1] in error.why
        assert error.hint.startswith("pip install" if name == "too_new" else f"polycmp plugins check {name}")

    def test_answers_to_the_name_of_its_backend_too(self, site):
        site.plugin("half", runner("halfway") + "@hookimpl\ndef polycmp_loaders():\n    raise OSError('no loaders')\n")
        registry = Registry.discover({})
        assert "halfway" not in registry.runners
        with pytest.raises(PluginError, match="polycmp_loaders raises OSError: no loaders"):
            registry.find_runner("halfway")


class TestDuplicates:
    def test_same_entry_point_name_switches_both_off_and_names_them(self, site):
        site.install("fake-a", {"twin": "fake_twin_a"}, {"fake_twin_a.py": runner("twin")})
        site.install("fake-b", {"twin": "fake_twin_b"}, {"fake_twin_b.py": runner("twin")})
        registry = Registry.discover({})
        twins = [item for item in registry.records if item.name == "twin"]
        assert [item.state for item in twins] == ["broken", "broken"]
        with pytest.raises(PluginError, match="claimed by fake-a and fake-b"):
            registry.find_runner("twin")

    def test_same_backend_name_goes_to_neither_and_breaks_neither(self, site):
        site.plugin("one", runner("same"))
        site.plugin("two", runner("same") + "    yield RunnerSpec('different', '', 'a:b')\n")
        registry = Registry.discover({})
        assert "same" not in registry.runners
        assert "different" in registry.runners
        with pytest.raises(PluginError, match="contributed by fake-one and fake-two, so neither gets the name"):
            registry.find_runner("same")
        [one] = [item for item in registry.records if item.name == "one"]
        assert one.state == "ok"
        assert any("backend 'same' refused: fake-two has it too" in note for note in one.notes)

    def test_core_keeps_its_own_names(self, site):
        site.plugin(
            "grabber",
            "from polycmp.spec import CompareFuncSpec, hookimpl\n"
            "@hookimpl\ndef polycmp_compare_funcs():\n    yield CompareFuncSpec('simple', '', 'a:b')\n",
        )
        registry = Registry.discover({})
        assert registry.compare_funcs["simple"].plugin == "polycmp"
        [record] = [item for item in registry.records if item.name == "grabber"]
        assert any("'simple' refused" in note for note in record.notes)

    def test_command_that_begins_another_goes_with_it(self, site):
        source = "from polycmp.spec import CommandSpec, hookimpl\n@hookimpl\ndef polycmp_commands():\n"
        site.plugin("outer", source + "    yield CommandSpec(('fake', 'show'), '', 'a:b')\n")
        site.plugin("inner", source + "    yield CommandSpec(('fake', 'show', 'all'), '', 'a:b')\n")
        site.plugin("beside", source + "    yield CommandSpec(('fake', 'shown'), '', 'a:b')\n")
        registry = Registry.discover({})
        assert [name for name in registry.commands if name.startswith("fake ")] == ["fake shown"]
        notes = {item.name: item.notes for item in registry.records}
        assert any("command 'fake show' refused" in note for note in notes["outer"])
        assert any("command 'fake show all' refused" in note for note in notes["inner"])
        assert notes["beside"] == ()

    def test_a_hidden_command_is_found_and_not_listed(self, site):
        source = "from polycmp.spec import CommandSpec, hookimpl\n@hookimpl\ndef polycmp_commands():\n"
        site.plugin("shy", source + "    yield CommandSpec(('fake', 'former'), '', 'a:b', hidden=True)\n")
        registry = Registry.discover({})
        assert "fake former" not in registry.commands
        assert registry.find_command("fake former").plugin == "shy"
        with pytest.raises(UsageError) as refused:
            registry.find_command("fake forme")
        assert "fake former" not in str(refused.value)

    def test_nobody_may_call_itself_polycmp(self, site):
        site.install("fake-usurper", {"polycmp": "fake_usurper"}, {"fake_usurper.py": runner("usurper")})
        registry = Registry.discover({})
        assert [item.state for item in registry.records if item.name == "polycmp"] == ["ok", "broken"]
        assert "simple" in registry.compare_funcs


class TestHeavyCode:
    def test_missing_modules_are_found_without_importing(self, site):
        site.plugin(
            "hungry",
            runner("hungry", needs="('json', 'fake_hungry_dep', 'fake_hungry_dep.sub', 'not_there', 'no.such')"),
        )
        (site.folder / "fake_hungry_dep.py").write_text("raise AssertionError('imported')")
        registry = Registry.discover({})
        found = registry.find_runner("hungry")
        assert missing_modules(found.spec) == ("not_there", "no.such")
        assert "fake_hungry_dep" not in sys.modules
        with pytest.raises(PluginError, match=r"(?s)modules 'not_there' and 'no.such'.*pip install not_there"):
            registry.require(found)

    def test_missing_module_names_the_extra_that_brings_it(self, site):
        requires = ["polycmp", "not_there-cu12>=1; extra == 'cu12'", "Not.There-cu13; extra=='cu13'", "x; extra == 'x'"]
        site.plugin("hungry", runner("hungry", needs="('not_there',)"), requires=requires)
        registry = Registry.discover({})
        with pytest.raises(PluginError) as caught:
            registry.require(registry.find_runner("hungry"))
        assert caught.value.hint == "pip install 'fake-hungry[cu12]' (or its extra [cu13])"

    @pytest.mark.parametrize(
        ("factory", "heavy", "says"),
        [
            ("fake_heavy:make", "import not_there_at_all", r"(?s)needs the Python module 'not_there_at_all'.*pip inst"),
            ("fake_heavy:make", "raise SystemExit(3)", r"(?s)cannot load fake_heavy:make.*SystemExit: 3"),
            ("fake_heavy:make", "1/0", r"(?s)cannot load.*ZeroDivisionError.*polycmp plugins check lazy"),
            ("fake_heavy:made", "make = 1", r"has no attribute 'made'"),
            ("fake_absent.deep:make", "", r"(?s)cannot load fake_absent.deep:make.*No module named 'fake_absent'"),
        ],
    )
    def test_whatever_a_factory_does_becomes_an_error_of_its_plugin(self, site, factory, heavy, says):
        site.plugin("lazy", runner("lazy", factory=factory))
        (site.folder / "fake_heavy.py").write_text(heavy)
        registry = Registry.discover({})
        with pytest.raises(PluginError, match=says) as caught:
            registry.load(registry.find_runner("lazy"))
        assert caught.value.whose == "backend 'lazy' of fake-lazy"

    def test_factory_is_imported_when_it_is_loaded(self, site):
        site.plugin("lazy", runner("lazy", factory="fake_heavy:Maker.make"))
        (site.folder / "fake_heavy.py").write_text("class Maker:\n    make = staticmethod(lambda: 'made')\n")
        registry = Registry.discover({})
        found = registry.find_runner("lazy")
        assert "fake_heavy" not in sys.modules
        assert registry.load(found)() == "made"


def test_the_usual_ranges_include_this_version():
    from packaging.specifiers import SpecifierSet

    import polycmp
    from polycmp.plugins.discovery import USUAL_RANGES

    for text in USUAL_RANGES:
        assert SpecifierSet(text).contains(polycmp.__version__, prereleases=True)


def test_a_folder_with_the_name_of_a_module_is_not_that_module(tmp_path, monkeypatch):
    (tmp_path / "no_such_library").mkdir()
    (tmp_path / "no_such_library" / "notes.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert missing_modules(RunnerSpec("x", "x", "x:x", needs=("no_such_library", "json"))) == ("no_such_library",)
    (tmp_path / "no_such_library" / "__init__.py").write_text("")
    invalidate_caches()
    assert missing_modules(RunnerSpec("x", "x", "x:x", needs=("no_such_library",))) == ()


def test_either_of_two_modules_will_do(monkeypatch):
    either = RunnerSpec("x", "x", "x:x", needs=("no_such_library.part|json", "no_such|nor_such"))
    assert missing_modules(either) == ("no_such|nor_such",)
    phrase = missing_phrase(missing_modules(either))
    assert phrase == "needs the Python module 'no_such' or 'nor_such', which is not installed"
