"""What contributions can do besides: what the base classes say, and what a plugin's class says instead."""

from __future__ import annotations

from tool_plugins import LOADER, RUNNER, tools_of

from polycmp.spec import LoaderTools, RunnerTools


def test_what_a_descriptor_does_not_say_is_as_the_base_class_says(site):
    runner = tools_of(site, RUNNER.format(""))
    assert type(runner) is RunnerTools
    assert runner.inside(None, None) == "graph"


def test_what_a_loader_does_not_say_it_cannot(site):
    loader = tools_of(site, LOADER.format(""), "loaders")
    assert type(loader) is LoaderTools
    assert (loader.save, loader.graph(None), loader.describe("m", None), loader.files("m")) == (None, None, None, ())


def test_a_class_overrides_what_is_true_of_it(site):
    tools = tools_of(
        site,
        RUNNER.format("tools='fake_mine:Mine'")
        + "class Mine(RunnerTools):\n    runs_parts = False\n    narrows = (('fast', 'float16'),)\n",
    )
    assert (tools.inside(None, None), tools.narrows, tools.compiles) == ("none", (("fast", "float16"),), False)


def test_a_loader_that_only_saves_saves_drafts_and_verified_files_alike(site):
    tools = tools_of(
        site,
        LOADER.format("tools='fake_mine:Mine'")
        + "class Mine(LoaderTools):\n    def save(self, loader, path):\n        self.last = loader, path\n",
        "loaders",
    )
    tools.draft("part", "one", "weights", whole=True)
    assert tools.last == ("part", "one")
    assert tools.save_verified("whole", "two", original=None, registry=None) == ()
    assert tools.last == ("whole", "two")
