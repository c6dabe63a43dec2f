"""`polycmp compare` of model files: which files are two models, and what is said of what a plugin finds in them."""

from __future__ import annotations

import pytest
from saved_data import outputs
from toymodels import node, small, write

LIGHT = """
    from polycmp.spec import ServiceSpec, hookimpl

    @hookimpl
    def polycmp_services():
        yield ServiceSpec("networks", "Compares files", "networks_heavy:compare")
"""
HEAVY = """
    from polycmp.runs import NetworkDifferences

    def compare(new, old):
        return {result}
"""


@pytest.fixture
def models(tmp_path):
    small(tmp_path / "new.toy", seed=1)
    small(tmp_path / "old.toy")


@pytest.fixture
def install(toybox, site):
    """Install a plugin that compares files; what it finds is given as source text."""

    def go(result):
        files = {"networks_light.py": LIGHT, "networks_heavy.py": HEAVY.format(result=result)}
        site.install("fake-networks", {"networks": "networks_light"}, files)

    return go


@pytest.mark.parametrize(
    ("files", "status", "says"),
    [
        (("new.toy",), 2, "1 model file given"),
        (("new.toy", "old.toy", "old.toy"), 2, "3 model files given"),
        (("new.toy", "o.npz"), 2, "next: polycmp run new.toy -b BACKEND --load-outputs o.npz"),
        (("new.toy", "gone.toy"), 3, "gone.toy"),
        (("new.toy", "old.toy"), 3, "pip install polycmp-locate"),
    ],
)
def test_what_cannot_be_compared(polycmp, models, tmp_path, files, status, says):
    outputs(tmp_path / "o.npz", "run", 1)
    done = polycmp("compare", *files)
    assert (done.status, says in done.err) == (status, True), done.err


@pytest.mark.parametrize(
    ("differences", "status", "words"),
    [
        ("(), (), (), False, 2, 2", 0, "PASSED: the same network, 2 of 2 constants compared"),
        ("(), (), (), False, 1, 2", 3, "UNDECIDED: nothing is wrong in what has a counterpart in the other file"),
        ("(), (), (), False, 0, 0", 3, "UNDECIDED: nothing is wrong"),
        ("('w is another', 'b is another'), (), (), False, 2, 2", 1, "another network: w is another, and 1 more"),
        ("(), (), ('it was trained again', 'since May'), True, 2, 2", 1, "FAILED: another network: it was trained"),
    ],
)
def test_the_verdict_is_what_a_plugin_finds(install, polycmp, models, differences, status, words):
    install(f"NetworkDifferences({differences})")
    done = polycmp("compare", "new.toy", "old.toy", "--report", "r.json")
    assert (done.status, words in done.words) == (status, True), done.out + done.err
    assert done.report()["constants"] == int(differences[-1])


def test_an_output_that_the_new_file_lacks_is_a_fault(install, polycmp, models, tmp_path):
    write(tmp_path / "more.toy", [node("Relu", "x", "y"), node("Neg", "x", "z")], outputs=["y", "z"])
    install("NetworkDifferences((), (), (), False, 1, 1)")
    done = polycmp("compare", "new.toy", "more.toy")
    assert (done.status, "new.toy has no output 'z'" in done.words) == (1, True), done.out + done.err


def test_a_file_beside_itself_shows_nothing(install, polycmp, models):
    install("NetworkDifferences((), (), (), False, 1, 1)")
    assert "it is one file: that it agrees with itself shows nothing" in polycmp("compare", "new.toy", "new.toy").words


def test_files_of_which_nothing_is_told_are_compared_by_a_run(install, polycmp, models):
    install("None")
    done = polycmp("compare", "new.toy", "old.toy")
    assert (done.status, "next: polycmp run new.toy old.toy -b BACKEND" in done.err) == (3, True)
