"""`polycmp pipeline`: the stage that is wrong on equal inputs, those that inherit, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from toymodels import chain, drawn, node, write

from polycmp_pipeline.values import together

NAMES = ["cut", "normalise", "score", "pick", "spell"]


def verdicts(found):
    """Return the verdict on each stage."""
    return {stage["name"]: stage["verdict"] for stage in found["stages"]}


def heirs(found):
    """Return the stages that inherit, and from which."""
    return {stage["name"]: stage["inherits_from"] for stage in found["stages"] if stage["inherits_from"]}


def test_a_pipeline_that_is_right(pipeline):
    done, found = pipeline()
    assert done.status == 0, done.out
    assert verdicts(found) == dict.fromkeys(NAMES, "passed")
    assert "PASSED: all 5 stages are right on equal inputs; end to end 'spell' is equal, with 3 samples" in done.words
    assert found["first_wrong"] is None
    assert not heirs(found)


@pytest.mark.parametrize(
    ("stage", "body", "says"),
    [
        (
            "cut",
            "def windows(signal):\n    return [signal[at : at + 8][None] for at in range(0, len(signal) - 11, 8)]",
            "windows of sample 0: 2 items instead of 3, without [2]",
        ),
        (
            "cut",
            "def windows(signal):\n    return [signal[at + 1 : at + 9][None] for at in range(0, len(signal) - 8, 8)]",
            "it is shifted by one backwards along axis 1",
        ),
        (
            "cut",
            "def windows(signal):\n    return [signal[at : at + 7][None] for at in range(0, len(signal) - 7, 8)]",
            "it has one less at the end of axis 1; shape [1,7] instead of [1,8]",
        ),
        (
            "cut",
            "def windows(signal):\n    return [signal[at : at + 8][:, None] for at in range(0, len(signal) - 7, 8)]",
            "its axes are in the order [1, 0]",
        ),
        (
            "normalise",
            "def normalise(windows):\n    return [1.1 * (w - w.mean()) / w.std() + 0.5 for w in windows]",
            "it is the reference × 1.1 + 0.5",
        ),
        (
            "normalise",
            "def normalise(windows):\n    return [((w - w.mean()) / w.std())[:, ::-1].copy() for w in windows]",
            "axis 1 is reversed",
        ),
        (
            "pick",
            "def pick(scores):\n    return [int(part.argmin()) for part in scores]",
            "'pick' is wrong on equal inputs: classes",
        ),
    ],
)
def test_the_stage_that_is_wrong_is_named_with_what_it_does(pipeline, stage, body, says):
    done, found = pipeline(**{stage: body})
    assert done.status == 1
    assert says in done.words
    assert found["first_wrong"] == stage
    assert {name for name, verdict in verdicts(found).items() if verdict != "passed"} == {stage}
    assert f"FAILED: '{stage}' is wrong on equal inputs" in done.words
    assert set(heirs(found)) <= set(NAMES[NAMES.index(stage) + 1 :])
    assert set(heirs(found).values()) <= {stage}


def test_stages_that_only_inherit_are_said_to(pipeline):
    done, found = pipeline(pick="def pick(scores):\n    return [int(part.argmin()) for part in scores]")
    assert heirs(found) == {"spell": "pick"}
    assert "right before it: 'cut', 'normalise' and 'score'" in done.words
    assert "right on equal inputs, and passing it on: 'spell'" in done.words
    assert "inherits from pick" in done.words


def test_a_model_is_judged_by_measured_rounding_and_by_a_typed_tolerance(pipeline):
    wrong = ("-b", "toy:fault=add,at=r3,amount=0.001", "-b", "plain")
    done, found = pipeline(*wrong)
    assert done.status == 1
    assert found["first_wrong"] == "score"
    assert "rounding explains up to" in done.words
    assert "10 of 10 calls" in done.words
    assert pipeline("-b", "toy:dtype=float16", "-b", "toy:dtype=float64")[1]["first_wrong"] is None
    makes = 'outputs = {{ y = "scores" }}'
    done, found = pipeline(*wrong, instead=(makes, f'{makes}\natol = 1\nallow-blind = "*"'))
    assert done.status == 0, done.out


def test_inputs_of_a_model_are_saved_for_the_command_that_is_offered(pipeline, polycmp, tmp_path):
    wrong = ("-b", "toy:fault=add,at=r3,amount=0.5,name=new", "-b", "plain")
    assert "polycmp pipeline p.toml" in pipeline(*wrong)[0].words
    done, _ = pipeline(*wrong, "--save-inputs", "stages")
    assert len(list((tmp_path / "stages" / "score").iterdir())) == 10
    assert "--load-inputs stages/score" in done.words
    again = polycmp("run", "m.toy", *wrong, "--load-inputs", "stages/score")
    assert again.status == 1


def test_a_typed_tolerance_judges_a_function(pipeline):
    off = "def normalise(windows):\n    return [(w - w.mean()) / (w.std() + 1e-6) + np.float32(0.001) for w in windows]"
    assert pipeline(normalise=off)[1]["first_wrong"] == "normalise"
    loose = ('outputs = "normal"', 'outputs = "normal"\natol = 0.01')
    assert pipeline(normalise=off, instead=loose)[1]["first_wrong"] is None


@pytest.mark.parametrize(
    ("verdicts", "first"), [("{'normal': True}", None), ("{'normal': False}", "normalise"), ("{}", "normalise")]
)
def test_a_compare_function_of_the_user_judges_a_function(pipeline, tmp_path, verdicts, first):
    (tmp_path / "judge.py").write_text(f"def compare_outputs(candidate, reference):\n    return {verdicts}\n")
    off = "def normalise(windows):\n    return [(w - w.mean()) / (w.std() + 1e-6) + np.float32(0.001) for w in windows]"
    script = ('outputs = "normal"', 'outputs = "normal"\ncompare-func-script = "judge.py"')
    done, found = pipeline(normalise=off, instead=script)
    assert found["first_wrong"] == first, done.out + done.err


def test_a_function_of_another_order_of_operations_is_right(pipeline):
    other = "def normalise(windows):\n    return [w / (w.std() + 1e-6) - w.mean() / (w.std() + 1e-6) for w in windows]"
    assert pipeline(normalise=other)[1]["first_wrong"] is None


def test_all_wrong_stages_are_told_and_the_first_is_named(pipeline):
    done, found = pipeline(
        cut="def windows(signal):\n    return [signal[at : at + 8][None] for at in range(0, len(signal) - 11, 8)]",
        pick="def pick(scores):\n    return [int(part.argmin()) for part in scores]",
    )
    assert found["first_wrong"] == "cut"
    assert verdicts(found)["pick"] == "failed"
    assert "wrong, too: 'pick'" in done.words


def test_a_function_that_changes_its_arguments_harms_nobody(pipeline):
    done, found = pipeline(
        normalise="def normalise(windows):\n    made = []\n    for w in windows:\n        w -= w.mean()\n"
        "        w /= w.std() + np.float32(1e-6)\n        made.append(w)\n    return made"
    )
    assert done.status == 0, done.out
    assert found["first_wrong"] is None


def test_the_same_function_with_a_memory_is_told(pipeline, tmp_path):
    (tmp_path / "state.py").write_text(
        "calls = []\n\n\ndef count(classes):\n    calls.append(1)\n    return len(calls)\n"
    )
    done, found = pipeline(instead=("old.py:spell", "state.py:count"))
    assert found["first_wrong"] == "spell"
    assert "the same function makes something else of the same inputs" in done.words


def test_a_new_function_that_raises_is_named_and_the_others_are_judged(pipeline):
    done, found = pipeline(normalise="def normalise(windows):\n    return windows[0] / len(windows[99])")
    assert done.status == 3
    assert found["first_wrong"] == "normalise"
    assert verdicts(found) == {**dict.fromkeys(NAMES, "passed"), "normalise": "error"}
    assert "ERROR: 'normalise' fails on equal inputs: new_normalise.py:normalise: it fails" in done.words
    assert "python new_normalise.py" in done.words


def test_a_reference_that_fails_ends_it(pipeline):
    done, found = pipeline("-b", "plain", "-b", "toy:fault=raise,at=r3")
    assert done.status == 3
    assert verdicts(found) == {"cut": "passed", "normalise": "passed", "score": "error"}
    assert found["not_reached"] == ["pick", "spell"]
    assert "the reference toy:fault=raise,at=r3 failed" in done.words


def test_a_fault_that_later_stages_refuse_is_still_theirs_to_be_judged(pipeline):
    """The windows are of a shape that the model does not take; on the reference's data it is right."""
    done, found = pipeline(
        cut="def windows(signal):\n    return [signal[at : at + 7][None] for at in range(0, len(signal) - 7, 8)]"
    )
    assert verdicts(found)["score"] == "passed"
    score = next(stage for stage in found["stages"] if stage["name"] == "score")
    assert "not reached with 3 samples" in score["end_to_end"]["text"]
    assert found["first_wrong"] == "cut"
    assert done.status == 1


def test_decisions_that_rounding_turns_are_undecided(pipeline, tmp_path):
    """The scores are as good as equal, and a threshold lies between them."""
    (tmp_path / "tie.py").write_text(
        "import numpy as np\n\n\ndef load():\n    yield {'x': np.full((1, 8), 0.25, np.float32)}\n\n\n"
        "def new(x):\n    return x * np.float32(1 + 1e-6)\n\n\ndef old(x):\n    return x\n\n\n"
        "def above(y):\n    return [bool(value) for value in (y > 0.25).ravel()]\n"
    )
    text = """
data-loader-script = "tie.py:load"
[[stage]]
name = "scale"
function = "tie.py:new"
reference-function = "tie.py:old"
inputs = "x"
outputs = "y"
[[stage]]
name = "threshold"
function = "tie.py:above"
inputs = "y"
outputs = "above"
"""
    done, found = pipeline(text=text)
    assert done.status == 3
    assert verdicts(found) == {"scale": "passed", "threshold": "passed"}
    assert "UNDECIDED: all 2 stages are right on equal inputs, but 'threshold' turns" in done.words
    assert "turns what rounding leaves of 'scale' into something else" in done.words


def test_two_files_are_the_sides_of_a_model(pipeline, tmp_path):

    chain(tmp_path / "new.toy", changed=4)
    sides = 'model = "new.toy"\nreference-model = "m.toy"\nbackend = "toy"'
    done, found = pipeline(instead=('model = "m.toy"', sides))
    assert done.status == 1
    assert found["first_wrong"] == "score"
    assert "new.toy against m.toy" in {stage["subject"] for stage in found["stages"]}


def test_samples_are_files_and_saved_inputs_too(pipeline, tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / f"{name}.txt").write_text(f"1 2 3 {len(name)}")
    (tmp_path / "read.py").write_text("def read(path):\n    return [int(word) for word in open(path).read().split()]\n")
    stage = '[[stage]]\nname = "read"\nfunction = "read.py:read"\ninputs = "path"\noutputs = "numbers"\n'
    done, found = pipeline(text=f'files = "in/*.txt"\n{stage}')
    assert done.status == 0, done.err
    assert found["samples"] == 2
    np.savez(tmp_path / "in.npz", path=np.arange(3.0))
    (tmp_path / "read.py").write_text("def read(path):\n    return path + 1\n")
    done, found = pipeline(text=f'load-inputs = "in.npz"\n{stage}')
    assert done.status == 0, done.err
    assert found["samples"] == 1


def test_no_items_are_nothing_to_run_on(pipeline):
    done, found = pipeline(
        cut="def windows(signal):\n    return []",
        instead=('reference-function = "old.py:windows"\n', ""),
    )
    assert verdicts(found)["score"] == "skipped"
    assert done.status == 0, done.out


def test_a_page_shows_the_stages(pipeline, tmp_path):
    pytest.importorskip("polycmp_report")
    done, _ = pipeline(
        "--report", "r.html", pick="def pick(scores):\n    return [int(part.argmin()) for part in scores]"
    )
    page = (tmp_path / "r.html").read_text("utf-8")
    assert done.status == 1
    assert "Error from stage to stage" in page
    assert "inherits from pick" in page


STAGE = '[[stage]]\nname = "cut"\nfunction = "old.py:windows"\ninputs = "signal"\noutputs = "windows"\n'
LOAD = 'data-loader-script = "old.py:load"\n'
MODEL = '[[stage]]\nname = "m"\nmodel = "m.toy"\nbackend = ["toy", "plain"]\n'


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("stage = 3", 2, "there are no stages"),
        (f"{LOAD}[[stages]]", 2, "there is no key 'stages'"),
        ("= 3", 2, "is not valid TOML"),
        (STAGE, 2, "no samples"),
        (f'files = "*.py"\n{LOAD}{STAGE}', 2, "two sources of samples"),
        (f'files = "*.none"\n{STAGE}', 2, "no file fits files = '*.none'"),
        (f"{LOAD}{STAGE}{STAGE}", 2, "another stage has this name"),
        (LOAD + STAGE.replace('name = "cut"\n', ""), 2, "it needs a name"),
        (LOAD + STAGE.replace("outputs", "output"), 2, "what does the function return?"),
        (LOAD + STAGE.replace('outputs = "windows"', 'outputs = "windows"\ntolerence = 3'), 2, "no option 'tolerence'"),
        (LOAD + STAGE.replace('outputs = "windows"', 'outputs = "windows"\nsave-outputs = "x.npz"'), 2, "of its own"),
        (LOAD + STAGE.replace("old.py:windows", "none.py:windows"), 2, "there is no file none.py"),
        (LOAD + STAGE.replace("old.py:windows", "old.py"), 2, "which function of old.py?"),
        (LOAD + STAGE.replace("old.py:windows", "old.py:windos"), 3, "old.py has no 'windos'"),
        (LOAD + STAGE.replace('"signal"', '"sigal"'), 2, "nothing before it makes 'sigal'"),
        (LOAD + STAGE.replace('"windows"\n', '["windows", "more", "most"]\n'), 3, "where outputs names 3"),
        (LOAD + STAGE.replace('"signal"', '{ x = "signal" }'), 2, "are names in their order"),
        (f"{LOAD}{MODEL}inputs = {{ y = 'signal' }}", 2, "the model has no input 'y'"),
        (f"{LOAD}{MODEL}", 2, "nothing before it makes 'x', which the model reads"),
        (f"{LOAD}{MODEL}inputs = 'signal'", 2, "'inputs' of a model are a table"),
        (LOAD + MODEL.replace(', "plain"', ""), 2, "1 backends"),
        (LOAD + MODEL.replace("m.toy", "none.toy"), 3, "none.toy"),
        (LOAD + MODEL.replace('"plain"', '"plane"'), 3, "no backend 'plane'"),
        (f"{LOAD}[[stage]]\nname = 'x'", 2, "a stage is a model or a function"),
    ],
)
def test_what_is_wrong_is_told(pipeline, text, status, says):
    done, _ = pipeline(text=text.replace("{", "{{").replace("}", "}}"))
    assert done.status == status, done.out + done.err
    assert says in " ".join((done.out + done.err).split())


def test_a_file_that_is_not_there(polycmp):
    done = polycmp("pipeline", "none.toml")
    assert done.status == 3
    assert "cannot read the pipeline none.toml" in done.err


def test_a_recurrent_model_gets_its_state_back(pipeline, tmp_path):
    """On the reference's data each item gets the reference's state; end to end each side has its own."""
    nodes = [node("Add", "x state", "next"), node("MatMul", "next w", "y")]
    inputs = {"x": ["float32", [1, 8]], "state": ["float32", [1, 8]]}
    write(tmp_path / "old.toy", nodes, {"w": drawn(8, 8, scale=0.3)}, inputs, ("y", "next"))
    (tmp_path / "start.py").write_text(
        "import numpy as np\n\n\ndef zeros(signal):\n    return np.zeros((1, 8), np.float32)\n"
    )
    text = """
data-loader-script = "old.py:load"
[[stage]]
name = "cut"
function = "old.py:windows"
inputs = "signal"
outputs = "windows"
[[stage]]
name = "start"
function = "start.py:zeros"
inputs = "signal"
outputs = "state"
[[stage]]
name = "listen"
model = "old.toy"
backend = ["{spec}", "plain"]
inputs = {{ x = "windows" }}
outputs = {{ y = "speech" }}
feedback = {{ state = "next" }}
"""
    done, found = pipeline(text=text.replace("{spec}", "toy"))
    assert done.status == 0, done.out + done.err
    done, found = pipeline(text=text.replace("{spec}", "toy:fault=add,at=next,amount=0.5"))
    assert found["first_wrong"] == "listen"
    listen = next(stage for stage in found["stages"] if stage["name"] == "listen")
    own = listen["values"]["next"]["error_of_range"]
    assert listen["end_to_end"]["error_of_range"] > own  # the error adds up where each side has its own state


def test_lists_of_other_lengths_are_paired_by_what_is_alike():
    items = [np.full((4, 4), number) + np.arange(4) for number in (0, 10, 20, 30, 40)]
    assert together(items[:2] + items[3:], items) == [(0, 0), (1, 1), (None, 2), (2, 3), (3, 4)]
    assert together(items, items[1:]) == [(0, None), (1, 0), (2, 1), (3, 2), (4, 3)]
    assert together([], items[:1]) == [(None, 0)]
    assert together(items, items[::-1])[0] == (0, 0)


def test_of_large_lists_of_other_lengths_items_belong_together_by_their_places():
    items = [np.full(2, number) for number in range(150)]
    assert together(items[:100], items)[-2:] == [(None, 148), (None, 149)]
    assert together(items, items[:100])[-1] == (149, None)


def test_shapes_may_be_given_to_a_model(pipeline):
    done, found = pipeline(instead=('model = "m.toy"', 'model = "m.toy"\ninput-shapes = "x:[1,8]"'))
    assert done.status == 0, done.err
    assert found["first_wrong"] is None


LISTS = """
import numpy as np

def load():
    yield {"signal": np.arange(24, dtype=np.float32)}

def three(signal):
    return [part[None] for part in signal.reshape(3, 8)]

def two(signal):
    return three(signal)[:2]
"""
TWO_LISTS = """
data-loader-script = "lists.py:load"
[[stage]]
name = "first"
function = "lists.py:three"
inputs = "signal"
outputs = "x"
[[stage]]
name = "second"
function = "lists.py:{name}"
reference-function = "lists.py:{reference}"
inputs = "signal"
outputs = "other"
[[stage]]
name = "model"
model = "two.toy"
backend = ["toy", "plain"]
"""


def test_lists_that_do_not_fit_together(pipeline, tmp_path):
    (tmp_path / "lists.py").write_text(LISTS)
    both = {"x": ["float32", [1, 8]], "other": ["float32", [1, 8]]}
    write(tmp_path / "two.toy", [node("Add", "x other", "y")], {}, both)
    done, found = pipeline(text=TWO_LISTS.replace("{name}", "two").replace("{reference}", "three"))
    assert done.status == 1, done.out + done.err
    assert found["first_wrong"] == "second"
    last = found["stages"][-1]
    assert last["verdict"] == "passed"
    assert last["end_to_end"]["text"] == "not reached with 1 sample: its inputs are no lists of one length"
    done, _ = pipeline(text=TWO_LISTS.replace("{name}", "two").replace("{reference}", "two"))
    assert done.status == 2
    assert "stage 'model': its inputs are lists of different lengths" in done.err
