"""A model file: which loader reads it, what can be made of it, and what is said where nothing can."""

from __future__ import annotations

import json
import os

import pytest
from in_process import plugins_installed
from toymodels import small

from polycmp.errors import FileError, ModelError
from polycmp.model import Model, ModelSettings


@pytest.fixture
def registry(toybox):
    return plugins_installed()


@pytest.fixture
def model(registry, tmp_path):
    return Model(str(small(tmp_path / "m.toy")), registry)


def loader_options(registry, **values):
    return {"toy": registry.loaders["toy"].spec.options(**values)}


def test_a_file_is_read_by_the_loader_of_its_suffix(model):
    assert model.kind == "toy"
    assert model.load("toy")().outputs == ("y",)
    assert [model.can_load(kinds) for kinds in (["toy"], ["packed"], ["other", "toy"], ["other"], [])] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_another_kind_is_made_by_the_loader_that_converts(model):
    packed = model.load("packed")()
    assert isinstance(packed, bytes)
    assert packed != b""


def test_what_no_loader_makes_is_refused_with_both_kinds(model):
    with pytest.raises(ModelError) as refused:
        model.load("engine")
    assert refused.value.what == f"cannot convert {model.path} (toy) to engine"
    assert refused.value.why == "no installed loader makes engine from toy"
    assert refused.value.hint == "polycmp plugins list"


def test_inputs_and_outputs_are_read_once_and_follow_the_loaders_options(registry, tmp_path):
    path = str(small(tmp_path / "m.toy"))
    marked = Model(path, registry, ModelSettings(loader_options(registry, mark_all=True)))
    assert marked.describe() is marked.describe()
    assert list(marked.describe().outputs) == ["h", "r", "y"]
    assert list(marked.describe_file().outputs) == ["y"]
    assert list(marked.describe_file().inputs) == ["x"]


def test_the_graph_is_made_once_and_a_part_has_its_own(model):
    graph = model.graph()
    assert model.graph() is graph is model.shown_graph()
    part = model.part(graph.mark(["r"]))
    assert part.is_part
    assert not model.is_part
    assert part.graph().outputs == ("r",)
    assert part.graph() is part.graph()
    assert model.graph() is graph
    assert part.hints() is None


def test_a_part_has_other_inputs_unless_it_is_said_that_it_has_the_models(registry, tmp_path):
    path, source = str(small(tmp_path / "m.toy")), object()
    model = Model(path, registry, ModelSettings(input_shapes={"x": (2, 8)}, data_source=source))
    part, same = model.part(model.load("toy")), model.part(model.load("toy"), same_inputs=True)
    assert (part.input_shapes, part.data_loader) == ({}, None)
    assert (same.input_shapes, same.data_loader) == ({"x": (2, 8)}, source)


def test_a_model_that_is_saved_can_be_read_again(model, tmp_path):
    model.save(model.load("toy"), str(tmp_path / "copy.toy"))
    copy = Model(str(tmp_path / "copy.toy"), model.registry)
    assert list(copy.describe().outputs) == ["y"]
    assert copy.load("toy")().weights == model.load("toy")().weights


def test_options_of_a_backend_that_no_loader_shares_change_nothing(model):
    spec = model.registry.runners["toy"].spec
    assert model.for_backend(spec, spec.options(threads=2)) is model
    assert model.for_backend(spec, None) is model


# --- what cannot be read


def test_a_file_that_is_not_there_is_answered_with_the_one_beside_it(registry, tmp_path):
    small(tmp_path / "model.toy")
    with pytest.raises(ModelError, match=r"no such model file: .*modle\.toy") as refused:
        Model(str(tmp_path / "modle.toy"), registry)
    assert refused.value.hint == f"ls {tmp_path} (did you mean 'model.toy'?)"
    with pytest.raises(ModelError) as refused:
        Model(str(tmp_path / "none" / "m.toy"), registry)
    assert refused.value.hint == f"there is no folder {tmp_path / 'none'} either"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_not_waited_for(registry, tmp_path):
    os.mkfifo(tmp_path / "m.toy")
    with pytest.raises(FileError, match="named pipe"):
        Model(str(tmp_path / "m.toy"), registry)


def test_a_suffix_that_no_loader_reads_names_those_there_are(registry, tmp_path):
    (tmp_path / "m.unknown").touch()
    with pytest.raises(ModelError, match="no installed loader reads") as refused:
        Model(str(tmp_path / "m.unknown"), registry)
    assert ".toy" in refused.value.why
    assert ".packed" in refused.value.why
    with pytest.raises(ModelError) as refused:
        Model(str(tmp_path), registry)
    assert refused.value.why.startswith("folders known by a file in them: ")


def test_the_type_that_is_given_comes_before_the_suffix(registry, tmp_path):
    path = small(tmp_path / "model.json")
    assert Model(str(path), registry, ModelSettings(kind="toy")).load("toy")().outputs == ("y",)
    with pytest.raises(ModelError, match="no installed loader reads models of type 'toyy'") as refused:
        Model(str(path), registry, ModelSettings(kind="toyy"))
    assert "toy" in refused.value.why


def test_a_damaged_file_is_an_error_that_names_it(registry, tmp_path):
    (tmp_path / "m.toy").write_text(json.dumps({"nodes": []}))
    with pytest.raises(ModelError, match=r"m\.toy is no toy"):
        Model(str(tmp_path / "m.toy"), registry).describe()
