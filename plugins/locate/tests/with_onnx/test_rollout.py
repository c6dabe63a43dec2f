"""`polycmp locate --steps`: the step and the operator in it that go wrong."""

from __future__ import annotations

import json
import zipfile

import pytest
from decoders import STATE, decoder, recurrent, save_all

STEPS = ("--steps", 6, "--state", STATE)


def located(tmp_path):
    return json.loads((tmp_path / "r.json").read_text())


@pytest.mark.parametrize(
    ("layer", "position", "step"), [(1, 9, 2), (1, 3, 0), pytest.param(0, 11, 4, marks=pytest.mark.corpus)]
)
def test_the_step_and_the_layer_of_a_fault_in_the_cache_are_named(polycmp, tmp_path, layer, position, step):
    list(save_all(tmp_path, good=decoder(), bad=decoder(forgets={layer: position})))
    words = ("-b", "onnxrt:model=bad.onnx,name=new", "-b", "onnxrt", *STEPS, "--report", "r.json")
    done = polycmp("locate", "good.onnx", *words)
    assert done.status == 1, done.out + done.err
    found = located(tmp_path)
    assert (found["step"], found["first_bad"]) == (step, f"h.{layer}.attn.key_window")
    text = " ".join(done.out.split())
    assert f"FOUND: in step {step}: " in text
    assert f"step {step} itself: new differs there although it is fed with the reference's state" in text


def test_a_backend_that_handles_the_cache_wrongly_is_caught_in_the_first_step_that_has_one(polycmp, tmp_path):
    """The operator that joins cache and new keys reads the cache in another order; in step 0 it is empty."""
    list(save_all(tmp_path, good=decoder(1)))
    fault = "faulty:backend=onnxrt,fault=shuffle,at=present.0.key,name=new"
    done = polycmp("locate", "good.onnx", "-b", fault, "-b", "onnxrt", *STEPS, "--report", "r.json")
    assert done.status == 1, done.out + done.err
    found = located(tmp_path)
    assert (found["step"], found["first_bad"]) == (1, "present.0.key")


def test_without_a_fault_all_steps_agree_and_the_longest_is_looked_into(polycmp, tmp_path):
    list(save_all(tmp_path, good=decoder(1)))
    done = polycmp("locate", "good.onnx", "-b", "onnxrt", "-b", "onnx", *STEPS, "--report", "r.json")
    assert done.status == 0, done.out + done.err
    assert "all 6 steps agree on both states; the search is in the last one" in " ".join(done.out.split())
    assert located(tmp_path)["step"] == 5


def test_an_operator_that_is_off_by_less_than_the_tolerance_is_named_when_its_state_adds_up(polycmp, tmp_path):
    list(save_all(tmp_path, good=recurrent(), bad=recurrent(1.5001)))
    words = ("-b", "onnxrt:model=bad.onnx,name=new", "-b", "onnxrt", "--steps", 8, "--state", "new_h=h")
    words = (*words, "--atol", "1e-4", "--rtol", "1e-4")
    done = polycmp("locate", "good.onnx", *words, "--report", "r.json")
    assert done.status == 1, done.out + done.err
    assert located(tmp_path)["first_bad"] == "grown"
    assert "the accumulated state: on its own state new parts in step" in " ".join(done.out.split())


def test_rounding_that_adds_up_in_the_state_is_nobodys_fault(polycmp, tmp_path):
    list(save_all(tmp_path, good=recurrent(), bad=recurrent(1.500005)))
    words = ("-b", "onnxrt:model=bad.onnx,name=new", "-b", "onnxrt", "--steps", 8, "--state", "new_h=h")
    done = polycmp("locate", "good.onnx", *words)
    assert done.status == 0, done.out + done.err
    assert "by no more than rounding explains; step by step the state adds up" in " ".join(done.out.split())


def test_the_next_command_after_a_run_with_steps_has_the_steps(polycmp, tmp_path):
    list(save_all(tmp_path, good=decoder(1)))
    words = ("-b", "faulty:backend=onnxrt,fault=shuffle,at=present.0.key,name=new", "-b", "onnxrt", *STEPS)
    done = polycmp("run", "good.onnx", *words, "--report", "r.json")
    assert done.status == 1
    [step] = [
        item["command"] for item in located(tmp_path)["next_steps"] if item["command"].startswith("polycmp locate")
    ]
    assert "--steps 6 --state 'present" in step


def test_the_case_that_is_saved_repeats_the_step(polycmp, tmp_path):
    list(save_all(tmp_path, good=decoder(1)))
    fault = "faulty:backend=onnxrt,fault=shuffle,at=present.0.key,name=new"
    done = polycmp("locate", "good.onnx", "-b", fault, "-b", "onnxrt", *STEPS, "--save-repro", "case")
    assert done.status == 1, done.out + done.err
    assert "repeat it with: sh case/run.sh" in " ".join(done.out.split())


def test_three_backends_vote_on_the_step_that_was_searched(polycmp, tmp_path):
    list(save_all(tmp_path, good=decoder(1)))
    fault = "faulty:backend=onnxrt,fault=shuffle,at=present.0.key,name=new"
    done = polycmp("locate", "good.onnx", "-b", fault, "-b", "onnxrt", "-b", "onnx", *STEPS)
    assert done.status == 1, done.out + done.err
    assert "the odd one out is new" in " ".join(done.out.split())


def test_the_step_in_which_a_saved_run_parts_is_searched_in_what_was_recorded_of_it(polycmp, tmp_path):
    list(save_all(tmp_path, good=decoder(1), bad=decoder(1, {0: 9})))
    saved = polycmp(
        "run", "good.onnx", "-b", "onnxrt:name=device", *STEPS, "--mark-all", "--save-outputs", "device.npz"
    )
    assert saved.status == 0, saved.out + saved.err
    words = ("-b", "onnxrt:name=new", *STEPS, "--load-outputs", "device.npz", "--report", "r.json")
    done = polycmp("locate", "bad.onnx", *words)
    assert done.status == 1, done.out + done.err
    found = located(tmp_path)
    assert (found["step"], found["first_bad"]) == (2, "h.0.attn.key_window")
    assert "step 2 itself: new differs there although it is fed with the reference's state" in " ".join(
        done.out.split()
    )
    assert polycmp("locate", "good.onnx", *words).status == 0


def test_outputs_alone_of_a_saved_run_name_the_step_and_the_part(polycmp, tmp_path):
    list(save_all(tmp_path, good=decoder(1), bad=decoder(1, {0: 9})))
    assert polycmp("run", "good.onnx", "-b", "onnxrt", *STEPS, "--save-outputs", "device.npz").status == 0
    words = ("-b", "onnxrt:name=new", *STEPS, "--load-outputs", "device.npz", "--report", "r.json")
    assert polycmp("locate", "bad.onnx", *words).status == 1
    found = located(tmp_path)
    assert (found["step"], found["first_bad"]) == (2, "present.0.key")


def test_a_saved_run_of_fewer_steps_is_wrong_usage(polycmp, tmp_path):
    list(save_all(tmp_path, good=decoder(1)))
    few = ("--steps", 3, "--state", STATE)
    assert polycmp("run", "good.onnx", "-b", "onnxrt", *few, "--save-outputs", "device.npz").status == 0
    done = polycmp("locate", "good.onnx", "-b", "onnxrt", *STEPS, "--load-outputs", "device.npz")
    assert done.status == 2
    assert "holds 3 of 6 steps" in done.err
    assert "--steps 3" in done.err


def test_a_saved_run_without_the_state_says_what_it_lacks(polycmp, tmp_path):
    list(save_all(tmp_path, good=decoder(1)))
    assert polycmp("run", "good.onnx", "-b", "onnxrt", *STEPS, "--save-outputs", "device.npz").status == 0
    with zipfile.ZipFile("device.npz") as saved, zipfile.ZipFile("logits.npz", "w") as less:
        document = json.loads(saved.read("polycmp.json"))
        for iteration in document["runs"][0]["iterations"]:
            iteration["tensors"] = [item for item in iteration["tensors"] if item["name"] == "logits"]
        less.writestr("polycmp.json", json.dumps(document))
        for name in saved.namelist():
            if "logits" in name:
                less.writestr(name, saved.read(name))
    done = polycmp("locate", "good.onnx", "-b", "onnxrt", *STEPS, "--load-outputs", "logits.npz")
    assert done.status == 3, done.out + done.err
    assert "no output 'present.0.key', which should be fed to the input" in done.err
