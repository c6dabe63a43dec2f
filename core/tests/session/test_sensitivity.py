"""Whether outputs move, asked of backends that cannot be asked."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from fakes import FakeSite
from toymodels import small

LIGHT = """
    from polycmp.spec import RunnerSpec, hookimpl

    @hookimpl
    def polycmp_runners():
        yield RunnerSpec("once", "Starts as often as it is said to", "once_heavy:make_runner", accepts=("toy",))
"""
HEAVY = """
    import numpy as np
    from polycmp.runner import Runner
    from polycmp.tensors import TensorMetadata

    left = {starts}

    class Once(Runner):
        def activate_impl(self):
            global left
            left -= 1
            if left < 0:
                raise RuntimeError("no licence for one more")

        def get_input_metadata_impl(self):
            return TensorMetadata().add("x", np.dtype(np.float32), (2, 8))

        def infer_impl(self, feed_dict):
            return {{"y": np.full((2, 8), 0.5, np.float32)}}

        def deactivate_impl(self):
            pass

    def make_runner(model, options, *, name):
        return Once(name)
"""

#: Counts in whole numbers, and shows nothing of itself.
COUNTING = HEAVY.replace("np.float32), (2, 8)", "np.int8), (2, 8)").replace(
    "np.full((2, 8), 0.5, np.float32)", 'feed_dict["x"].sum(1, keepdims=True)'
)


@pytest.mark.parametrize(
    ("starts", "words", "why"),
    [
        (
            2,
            ("--iterations", "2"),
            "whether 'y' depends on the inputs is not known: no backend runs the model once more",
        ),
        (9, ("--iterations", "2"), "no output depends on the inputs"),
        (2, (), "no output depends on the inputs"),
    ],
)
def test_what_cannot_be_asked_is_no_pass(polycmp, tmp_path_factory, monkeypatch, tmp_path, starts, words, why):
    site = FakeSite(tmp_path_factory.mktemp("site"))
    monkeypatch.syspath_prepend(str(site.folder))
    files = {"once_light.py": LIGHT, "once_heavy.py": HEAVY.format(starts=starts)}
    site.install("fake-once", {"once": "once_light"}, files)
    small(tmp_path / "m.toy")
    try:
        done = polycmp("run", "m.toy", "-b", "once:name=one", "-b", "once:name=two", *words)
    finally:
        for module in ("once_light", "once_heavy"):
            sys.modules.pop(module, None)
    assert (done.status, why in " ".join(done.out.split())) == (3, True), done.out + done.err


def test_whole_numbers_that_are_the_same_everywhere_are_changed_as_real_ones_are(
    polycmp, tmp_path_factory, monkeypatch, tmp_path
):
    site = FakeSite(tmp_path_factory.mktemp("site"))
    monkeypatch.syspath_prepend(str(site.folder))
    site.install(
        "fake-once", {"once": "once_light"}, {"once_light.py": LIGHT, "once_heavy.py": COUNTING.format(starts=9)}
    )
    small(tmp_path / "m.toy")
    np.savez(tmp_path / "ones.npz", x=np.ones((2, 8), np.int8))
    try:
        done = polycmp("run", "m.toy", "-b", "once:name=one", "-b", "once:name=two", "--load-inputs", "ones.npz")
    finally:
        for module in ("once_light", "once_heavy"):
            sys.modules.pop(module, None)
    assert (done.status, "PASSED" in done.out) == (0, True), done.out + done.err
