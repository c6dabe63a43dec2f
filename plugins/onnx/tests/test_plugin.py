"""What the package contributes."""

from __future__ import annotations

import dataclasses

from polycmp_onnx.plugin import LoaderOptions, RunnerOptions, polycmp_loaders, polycmp_runners


def test_the_hooks_describe_options_that_exist_and_names_that_load():
    (loader,), (runner,) = list(polycmp_loaders()), list(polycmp_runners())
    fields = [{field.name for field in dataclasses.fields(options)} for options in (LoaderOptions, RunnerOptions)]
    assert not fields[0] & fields[1], "both make flags --onnx-FIELD"
    for target in (loader.factory, loader.tools, runner.factory, runner.tools):
        module, _, name = target.partition(":")
        assert callable(getattr(__import__(module, fromlist=[name]), name))
