"""What contributions can do besides: classes that descriptors name, and the fields that descriptors had before."""

from __future__ import annotations

import pytest
from tool_plugins import HEAD, RUNNER

from polycmp.errors import PluginError
from polycmp.plugins import Registry


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("class Mine: pass", "no class derived from polycmp.spec.RunnerTools"),
        ("class Mine(LoaderTools): pass", "no class derived from polycmp.spec.RunnerTools"),
        ("class Mine(RunnerTools):\n    def __init__(self): raise OSError('no luck')", "no luck"),
        ("class Mine(RunnerTools): switches = ('off',)", "a switch of 'mine' is str instead of Switch"),
        ("class Mine(RunnerTools): switches = (Switch('off'),)", "names an option 'off' that it does not have"),
        ("class Mine(RunnerTools): switches = (Switch('fast', (), 'a'),)", "'a' of 'mine' is not of the form"),
        ("class Mine(RunnerTools): aliasses = ('it',)", "RunnerTools has no 'aliasses'; did you mean 'aliases'?"),
        ("class Mine(RunnerTools): rewritten = 'file'", "names an option 'file' that it does not have"),
        ("", "cannot load fake_mine:Mine"),
    ],
)
def test_tools_that_are_broken_are_left_out_and_explained(site, source, reason):
    site.plugin("mine", HEAD + RUNNER.format("tools='fake_mine:Mine'") + source)
    registry = Registry.discover()
    assert "mine" in registry.runners
    assert [item.name for item, _ in registry.equipped(registry.runners.values())] == []
    with pytest.raises(PluginError) as failure:
        registry.tools(registry.runners["mine"])
    assert reason in f"{failure.value.what}: {failure.value.why}"
    assert "backend 'mine'" in str(failure.value)


def test_a_string_that_names_no_class_breaks_the_plugin(site):
    site.plugin("mine", HEAD + RUNNER.format("tools='mine.Tools'"))
    [record] = [item for item in Registry.discover().records if item.name == "mine"]
    assert (record.state, "'mine.Tools' in polycmp_runners" in record.reason) == ("broken", True)
