"""A data loader that goes on from the outputs of a run, as a stranger's plugin brings it."""

from __future__ import annotations

import pytest
from toymodels import node, write

from polycmp.results.files import open_runs

LIGHT = """
    from dataclasses import dataclass
    from polycmp.spec import DataLoaderSpec, hookimpl, opt

    @dataclass(frozen=True)
    class Options:
        steps: int = opt(0, help="Steps of a sequence.")

    @hookimpl
    def polycmp_data_loaders():
        for name in ("again", "once_more"):
            yield DataLoaderSpec(name, "Outputs as inputs", "again_heavy:make", Options, follows=True)
"""
#: Feeds the reference's output `y` back as the input `x`, to all runs alike.
HEAVY = """
    import numpy as np
    from polycmp.tensors import DataSource

    def make(options, following, resolved):
        if options.steps > 9:
            raise RuntimeError("nine steps are enough")
        return Again(options.steps)

    class Again:
        notes = ()

        def __init__(self, steps):
            self.steps, self.told = steps, []

        def join(self, runs):
            return list(runs)

        def source(self, source):
            return Steps(source, self)

        def made(self, outputs):
            self.last = {label: np.array(arrays["y"]) for label, arrays in outputs.items()}

        def add(self, iteration, candidate, reference, found):
            self.told.append((iteration, candidate, reference, [item.passed for item in found]))

        def finish(self, outcome):
            outcome.notes.append(f"{self.steps} steps: {self.told}")

    class Steps(DataSource):
        def __init__(self, source, feedback):
            self.start, self.feedback = source, feedback

        def __call__(self, inputs):
            for feed in self.start(inputs):
                yield feed
                for _ in range(self.feedback.steps - 1):
                    yield {"x": self.feedback.last["plain"]}
"""


@pytest.fixture
def step(toybox, site, polycmp, tmp_path):
    """Run a model that adds 1 to its input, with a data loader that goes on from its outputs."""
    site.install("fake-again", {"again": "again_light"}, {"again_light.py": LIGHT, "again_heavy.py": HEAVY})
    one = {"one": {"dtype": "float32", "shape": [], "values": 1}}
    write(tmp_path / "m.toy", [node("Add", "x one", "y")], one, {"x": ["float32", [2]]})
    return lambda *words: polycmp("run", "m.toy", "-b", "toy", "-b", "plain", "--save-outputs", "o.npz", *words)


def test_outputs_of_a_step_are_the_inputs_of_the_next_and_verdicts_are_told(step, tmp_path):
    done = step("--again-steps", "3")
    assert done.status == 0, done.err
    [_, plain] = open_runs(tmp_path / "o.npz")
    first, second, third = (iteration["y"] for iteration in plain.iterations)
    assert (second - first).tolist() == (third - second).tolist() == [1, 1]
    told = [(number, "toy", "plain", [True]) for number in range(3)]
    assert f"3 steps: {told}" in done.words


def test_without_any_of_its_options_it_takes_no_part(step):
    done = step()
    assert (done.status, "steps" in done.words) == (0, False)


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("--again-steps", "2", "--once-more-steps", "2"), 2, "only one of again and once_more can go on"),
        (("--again-steps", "10"), 3, "nine steps are enough"),
        (("--data-loader", "again"), 2, "again"),
    ],
)
def test_what_cannot_go_on_is_refused(step, words, status, says):
    done = step(*words)
    assert (done.status, says in done.err) == (status, True), done.err
