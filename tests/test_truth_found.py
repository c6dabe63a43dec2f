"""Faults of others: what is quoted of the standard stands there, and each fault is shown by the release on the page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx.defs
import onnx.parser
import pytest
from packaging.version import Version

from polycmp_onnx.runner import ReferenceRunner
from truth.found.__main__ import main
from truth.found.compiler_faults import COMPILER_FAULTS
from truth.found.fault import RUNS
from truth.found.faults import FAULTS
from truth.found.learned_faults import LEARNED_FAULTS
from truth.found.showing import release_of, show, value_of
from truth.found.survey_faults import SURVEY_FAULTS
from truth.found.tool_faults import TOOL_FAULTS
from truth.found.torch_faults import TORCH_FAULTS

PAGE = (Path(__file__).parents[1] / "docs" / "found.md").read_text("utf-8")

of_this_year = pytest.mark.skipif(Version(onnx.__version__) < Version("1.23"), reason="the page is of onnx 1.23")


def plain(text: str) -> str:
    return " ".join(text.replace("`", "").split())


#: Those of files, told in the format that ONNX's parser reads.
OF_FILES = (*FAULTS, *SURVEY_FAULTS, *TOOL_FAULTS, *COMPILER_FAULTS)
ALL = (*OF_FILES, *TORCH_FAULTS, *LEARNED_FAULTS)
#: The first of each product, whose program is run with `make test`; each fault takes a process for each product.
CHOSEN = tuple({fault.product: fault for fault in reversed(ALL)}.values())


def standard(operator: str, opset: int, domain: str = "") -> str:
    """Return all that the installed package says of an operator."""
    schema = onnx.defs.get_schema(operator, opset, domain)
    parts = [*schema.attributes.values(), *schema.inputs, *schema.outputs]
    return plain(" ".join([schema.doc, *(part.description for part in parts)]))


@of_this_year
@pytest.mark.parametrize("fault", OF_FILES, ids=lambda fault: fault.name)
def test_what_is_quoted_stands_in_the_standard(fault):
    model = onnx.parser.parse_model(fault.code().split("'''")[1])
    named = re.match(r"(\w+)(?:-(\d+))?[ ,:]", fault.source)
    nodes = {node.op_type: node.domain for node in model.graph.node}
    operator = named[1] if named and (named[1] in nodes or onnx.defs.has(named[1])) else model.graph.node[-1].op_type
    later = re.search(rf"{operator}-(\d+)", fault.source)
    domain = nodes.get(operator, "")
    said = standard(operator, int(later[1]) if later else (fault.learning if domain else fault.opset), domain)
    assert [quoted for quoted in re.findall("“(.*?)”", fault.source) if plain(quoted) not in said] == []


@pytest.mark.parametrize("fault", TORCH_FAULTS, ids=lambda fault: fault.name)
def test_what_is_quoted_stands_in_the_help_of_torch(fault):
    torch = pytest.importorskip("torch")
    named = re.match(r"(Tensor\.)?(\w+): “", fault.source)
    if named is not None:
        said = plain(getattr(torch.Tensor if named[1] else torch, named[2]).__doc__)
        assert [quoted for quoted in re.findall("“(.*?)”", fault.source) if plain(quoted) not in said] == []


@pytest.mark.parametrize("fault", LEARNED_FAULTS, ids=lambda fault: fault.name)
def test_what_is_quoted_stands_in_the_help_of_scikit_learn(fault):
    neighbors = pytest.importorskip("sklearn.neighbors")
    named = re.match(r"(\w+): “", fault.source)
    said = plain(getattr(neighbors, named[1]).__doc__)
    assert [quoted for quoted in re.findall("“(.*?)”", fault.source) if plain(quoted) not in said] == []


@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, marks=() if fault in CHOSEN else pytest.mark.corpus) for fault in ALL],
    ids=lambda fault: fault.name,
)
def test_a_fault_is_on_the_page_as_its_release_shows_it(fault):
    if not release_of(fault.product):
        pytest.skip(f"{fault.product} is not installed")
    release = f"{fault.product} {release_of(fault.product)}"
    if f"\n{release} {fault.what}." not in PAGE:
        pytest.skip(f"the page was not written with {release}")
    shown = show(fault)
    assert shown.is_shown, shown
    assert fault.code() in PAGE
    assert f"| `{shown.said}` |" in PAGE


@of_this_year
@pytest.mark.parametrize("fault", OF_FILES, ids=lambda fault: fault.name)
def test_the_reference_is_right(fault):
    model = onnx.parser.parse_model(fault.code().split("'''")[1])
    wanted = np.asarray(value_of(fault.expected))

    def run():
        with ReferenceRunner(model) as runner:
            return next(iter(runner.infer(value_of(fault.feeds)).values()))

    found = eval(fault.shown.format(run="run()"), {"np": np, "run": run})
    np.testing.assert_allclose(np.asarray(found, np.float64), wanted, 1e-3, 1e-4)


def test_the_page_is_left_alone_where_a_product_is_missing(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(RUNS, "no_such_runtime", ("import no_such_runtime", "0"))
    assert main(["--output", str(tmp_path / "page.md")]) == 0
    said = capsys.readouterr().out
    assert "no_such_runtime" in said
    assert "not installed here" in said
    assert not (tmp_path / "page.md").exists()
