"""The result of a search over passes in one sentence, and in the JSON document beside it."""

from __future__ import annotations

import pytest

from polycmp.graph import GraphNode
from polycmp.spec import Switch
from polycmp_bisect.passes.pass_search import PassSearchResult
from polycmp_bisect.passes.result import document_of, result_of, sentence_of
from polycmp_bisect.passes.search import Guilty
from polycmp_bisect.search import Judgement
from polycmp_locate.trials.rewriting import Rewrite

GOOD, BAD = Judgement("good", "", 0.0, 0.5, "y"), Judgement("bad", "y is off", 0.25, 0.5, "y")
CONV, RELU = GraphNode("Conv", "c", outputs=("h",)), GraphNode("Relu", outputs=("y",))
LOOKS = (("as it is", BAD), ("without fuse", GOOD))
FUSE = Guilty(Switch("disabled"), ("fuse",), GOOD)
REWRITE = Rewrite((CONV, RELU), ("FusedConv",), ("x",), ("y",))


@pytest.mark.parametrize(
    ("found", "said", "heading"),
    [
        (
            PassSearchResult("ort", (("as it is", GOOD),)),
            "ort is right with all of its passes (y off by 0 of its range)",
            "NO FAULT",
        ),
        (
            PassSearchResult("ort", (("as it is", BAD), ("with level=none", BAD))),
            "ort is wrong with and without its passes, so none of them is to blame: y is off (2 runs)",
            "FAILED",
        ),
        (
            PassSearchResult("ort", LOOKS, FUSE, "without fuse", "ort:disabled=fuse", None, (REWRITE,)),
            "without fuse ort is right; there it computes FusedConv in place of Conv 'c' and Relu 'y'; workaround: "
            "ort:disabled=fuse (2 runs)",
            "FOUND",
        ),
        (
            PassSearchResult(
                "ort", LOOKS, Guilty(Switch("disabled"), ("fuse",), GOOD, ("fold", "cut")), "without fuse",
                together=(CONV, RELU),
            ),
            "without fuse ort is right; without fold and cut it is right as well, and no run shows which of the two "
            "is wrong; else it runs Conv 'c' and Relu 'y' one by one, but not together (2 runs)",
            "FOUND",
        ),
    ],
)  # fmt: skip
def test_one_sentence_says_what_helps_and_what_is_not_known(found, said, heading):
    assert sentence_of(found) == said
    result = result_of(found, "", "polycmp bisect", 1.5)
    assert (result.heading, result.sentence) == (heading, said)
    assert result.verdict == result.document["verdict"] == ("passed" if heading == "NO FAULT" else "failed")


def test_the_document_names_the_setting_and_the_operators_that_are_replaced():
    found = PassSearchResult("ort", LOOKS, FUSE, "without fuse", "ort:disabled=fuse", None, (REWRITE,), (RELU,))
    document = document_of(found, "polycmp bisect", 1.5)
    assert document["switch"] == {
        "option": "disabled", "value": ("fuse",), "words": "ort:disabled=fuse", "others": [],
    }  # fmt: skip
    assert document["replaced"] == [
        {"operators": [{"type": "Conv", "name": "c"}, {"type": "Relu", "name": ""}], "by": ["FusedConv"]}
    ]
    assert document["together"] == [{"type": "Relu", "name": ""}]
    assert [(item["setting"], item["state"]) for item in document["judged"]] == [
        ("as it is", "bad"), ("without fuse", "good"),
    ]  # fmt: skip
