"""What the page of a search tells: of the first bad one and the last good one, and of passes that help."""

from __future__ import annotations

import pytest
from in_process import plugins_installed

from polycmp.graph import GraphNode
from polycmp.plan import BackendPlan, Plan
from polycmp.spec import Switch
from polycmp_bisect.candidates.backwards import Backwards
from polycmp_bisect.candidates.files import Files
from polycmp_bisect.locating import Operator
from polycmp_bisect.page_content import story_of, story_of_passes
from polycmp_bisect.passes.pass_search import PassSearchResult
from polycmp_bisect.passes.search import Guilty
from polycmp_bisect.result import Answer
from polycmp_bisect.search import Judgement, TurningPoint
from polycmp_locate.trials.rewriting import Rewrite

REGISTRY = plugins_installed()
GOOD, BAD = Judgement("good", "", 0.0, 0.5, "y"), Judgement("bad", "y is off", 0.25, 0.5, "y")
REFUSED = Judgement("bad", "no kernel")
PLAN = Plan(model="m.onnx", backends=(BackendPlan("onnx", "onnx", REGISTRY.find_runner("onnx").spec.options()),))
FILES = Files(["a.onnx", "b.onnx", "c.onnx"], PLAN)
RELEASES = Files(["1.0", "1.1", "1.2"], PLAN, what="release of toyconv")


def story(judged, first_bad, last_good, line=FILES, over=(), operator=None):
    """Return the story of a search over three candidates."""
    turn = TurningPoint(first_bad, last_good, judged)
    return story_of(Answer(line, turn, operator or Operator(), 0, "polycmp typed", 1.0), PLAN, over, REGISTRY)


@pytest.mark.parametrize(
    ("found", "title", "turn"),
    [
        (
            story({2: BAD, 1: GOOD}, 2, 1),
            "c.onnx gives wrong results; b.onnx is right",
            "b.onnx is right, c.onnx is the first that is not.",
        ),
        (
            story({2: REFUSED, 0: GOOD}, 2, 0),
            "c.onnx cannot run a model; a.onnx can",
            "a.onnx is right, c.onnx is the first that is not.",
        ),
        (
            story({0: BAD}, 0, None, RELEASES),
            "toyconv 1.0 gives wrong results",
            "toyconv 1.0 is the oldest that could be judged, and it is wrong, too.",
        ),
        (
            story({1: BAD, 0: GOOD}, 1, 0, Backwards(RELEASES)),
            "toyconv 1.1 gives wrong results; toyconv 1.2 is right",
            "Mended in 1.2; 1.1 is the last that is wrong.",
        ),
    ],
)
def test_the_title_names_who_is_wrong_and_the_sentence_where_it_turns(found, title, turn):
    assert (found.title, found.turn) == (title, turn)


def test_rows_go_from_old_to_new_and_the_model_is_that_of_the_first_bad_one():
    operator = Operator("wrong: Mul", {"fused": {"switch": {"words": "-b onnx:off"}}}, "polycmp locate c.onnx")
    found = story({2: BAD, 0: GOOD, 1: GOOD}, 2, 1, operator=operator)
    assert [name for name, _ in found.rows] == FILES.names
    assert found.plan.model == "c.onnx"
    assert (found.operator, found.way_round) == ("wrong: Mul", "-b onnx:off")
    assert found.again == ["polycmp locate c.onnx", "polycmp typed"]
    mended = story({0: GOOD, 1: BAD}, 1, 0, Backwards(RELEASES))
    assert [name for name, _ in mended.rows] == ["1.1", "1.2"]


def test_the_search_that_finds_it_again_has_both_ends_and_a_converter_is_installed_first():
    found = story({2: BAD, 1: GOOD}, 2, 1, RELEASES, ("--over", "toyconv"))
    assert found.again == ["polycmp bisect m.onnx -b onnx --over toyconv --good 1.1 --bad 1.2"]
    assert (found.tool, found.steps) == ("toyconv", ["pip install toyconv==1.2"])
    assert (story({2: BAD, 1: GOOD}, 2, 1).tool, story({2: BAD, 1: GOOD}, 2, 1).steps) == ("", [])


@pytest.mark.parametrize(
    ("more", "first", "title", "operator"),
    [
        ({}, BAD, "toyrt gives wrong results; without fuse it is right", ""),
        (
            {"replaced": (Rewrite((GraphNode("Conv", "c"),), ("Fused",), ("x",), ("y",)),)},
            REFUSED,
            "toyrt cannot run a model; without fuse it is right",
            "it computes Fused in place of Conv 'c'",
        ),
        (
            {"together": (GraphNode("Conv", "c"), GraphNode("Relu", "r"))},
            BAD,
            "toyrt gives wrong results; without fuse it is right",
            "it runs Conv 'c' and Relu 'r' one by one, but not together",
        ),
    ],
)
def test_a_story_of_passes_names_what_helps_and_the_operators(more, first, title, operator):
    looks = (("as it is", first), ("without fuse", GOOD))
    passes = PassSearchResult(
        "toy", looks, Guilty(Switch("disabled"), ("fuse",), GOOD), "without fuse", "-b toy:disabled=fuse", **more
    )
    found = story_of_passes(passes, PLAN, "toyrt", "/python", "polycmp typed")
    assert (found.title, found.operator) == (title, operator)
    assert found.turn == "toy is wrong as it is, and right without fuse."
    assert (found.way_round, found.interpreters) == ("-b toy:disabled=fuse", {"toy as it is": "/python"})
