"""`polycmp run --steps`: decoders with a cache and recurrent models, whose outputs are inputs of the next step."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from decoders import STATE, decoder, recurrent, save_all
from small_models import graph_model

STEPS = ("--steps", 5, "--state", STATE)


@pytest.fixture
def models(tmp_path):
    """A decoder, two whose cache loses position 9, and two recurrences of nearly the same factor."""
    # The fault in the cache changes the top token of step 8 first.
    list(
        save_all(
            tmp_path,
            good=decoder(),
            forgets=decoder(forgets={1: 9}),
            wrong=decoder(forgets={0: 9, 1: 9}),
            rnn=recurrent(),
            drifts=recurrent(1.500005),
        )
    )


def steps_of(tmp_path, name="r.json"):
    return json.loads((tmp_path / name).read_text())["steps"]


def test_a_sound_decoder_agrees_in_all_steps_on_both_states(polycmp, models, tmp_path):
    done = polycmp("run", "good.onnx", "-b", "onnxrt", "-b", "onnx", *STEPS, "--report", "r.json")
    assert done.status == 0, done.out + done.err
    assert "onnxrt agrees with onnx in all 5 steps, on its own state and on the reference's" in " ".join(
        done.out.split()
    )
    assert "the top token of 'logits' is the same in all 5 steps" in done.out
    report = json.loads((tmp_path / "r.json").read_text())
    runs = report["inference_results"]
    assert list(runs) == ["onnxrt", "onnxrt on the reference's state", "onnx"]
    assert {run["iterations"] for run in runs.values()} == {5}
    # A prompt of 8 tokens on an empty cache, and then one token a step.
    assert runs["onnx"]["outputs"]["present.0.key"]["shape"] == [1, 2, 12, 8]
    assert report["inputs"]["attention_mask"]["shape"] == [1, 12]
    assert report["inputs"]["input_ids"]["shape"] == [1, 1]


def test_the_steps_give_what_the_whole_text_gives_at_once(polycmp, models, tmp_path):
    """Decoding with the cache, as the inputs of each step tell, is the same as the uncached model on all tokens."""
    import onnxruntime as ort

    done = polycmp("run", "good.onnx", "-b", "onnxrt", *STEPS, "--save-inputs", "i.npz", "--save-outputs", "o.npz")
    assert done.status == 0, done.out + done.err
    from polycmp.json import load_json  # noqa: F401 - the files are read as a user would
    from polycmp.results.files import open_inputs, open_runs

    feeds = [dict(feed) for feed in open_inputs(["i.npz"])]
    tokens = np.concatenate([feed["input_ids"] for feed in feeds], axis=1)
    assert tokens.shape == (1, 12)
    empty = {name: array for name, array in feeds[0].items() if name.startswith("past")}
    assert all(array.size == 0 for array in empty.values())
    whole = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "position_ids": np.arange(12)[None], **empty}
    [logits] = ort.InferenceSession("good.onnx").run(["logits"], whole)
    [run] = open_runs("o.npz")
    last = list(run.iterations)[-1]["logits"]
    np.testing.assert_allclose(last[:, -1], logits[:, -1], atol=1e-4)
    np.testing.assert_array_equal(tokens[0, 8:], logits[0, 7:11].argmax(-1))


def test_a_planted_fault_in_the_cache_names_the_step(polycmp, models, tmp_path):
    words = ("-b", "onnxrt:model=forgets.onnx,name=new", "-b", "onnxrt", *STEPS, "--report", "r.json")
    done = polycmp("run", "good.onnx", *words)
    assert done.status == 1
    text = " ".join(done.out.split())
    assert "step 2 itself: new differs from onnxrt there although it is fed with the reference's state" in text
    assert "'present.1.key'" in text
    found = steps_of(tmp_path)["candidates"]["new"]
    assert (found["cause"], found["first_on_own_state"], found["first_on_reference_state"]) == ("step", [0, 2], [0, 2])
    assert [step["failed"] for step in found["own_state"][:2]] == [[], []]
    assert set(found["own_state"][2]["failed"]) == {"logits", "present.1.key"}


def test_the_first_other_top_token_is_named(polycmp, models, tmp_path):
    words = ("--steps", 12, "--state", STATE, "--report", "r.json")
    done = polycmp("run", "good.onnx", "-b", "onnxrt:model=wrong.onnx,name=new", "-b", "onnxrt", *words)
    assert done.status == 1
    assert "the top token of 'logits' differs first in step 8 on its own state: " in done.out
    assert steps_of(tmp_path)["candidates"]["new"]["first_other_top_token"] == [0, 8]


def test_an_error_of_the_accumulated_state_is_told_from_one_of_the_step(polycmp, models, tmp_path):
    words = ("--steps", 8, "--state", "new_h=h", "--report", "r.json", "--atol", "1e-5", "--rtol", "1e-5")
    done = polycmp("run", "rnn.onnx", "-b", "onnxrt:model=drifts.onnx,name=new", "-b", "onnxrt", *words)
    assert done.status == 1
    text = " ".join(done.out.split())
    assert "the accumulated state: on its own state new parts from onnxrt in step" in text
    assert "fed with the reference's state that step is right" in text
    found = steps_of(tmp_path)["candidates"]["new"]
    assert (found["cause"], found["first_on_reference_state"]) == ("state", None)
    errors = [step["error"] for step in found["own_state"]]
    assert errors[-1] > 3 * errors[0]


def test_a_streaming_model_takes_a_feed_of_the_source_in_each_step(polycmp, models, tmp_path):
    chunks = np.arange(12, dtype=np.float32).reshape(3, 1, 4)
    np.savez("first.npz", x=chunks[0], h=np.full((1, 4), 10, np.float32))
    for index in (1, 2):
        np.savez(f"more{index}.npz", x=chunks[index])
    words = ("--load-inputs", "first.npz", "more1.npz", "more2.npz", "--save-outputs", "o.npz")
    done = polycmp("run", "rnn.onnx", "-b", "onnxrt", "--steps", 3, "--state", "new_h=h", *words)
    assert done.status == 0, done.out + done.err
    from polycmp.results.files import open_runs

    [run] = open_runs("o.npz")
    state = np.full((1, 4), 10.0)
    for chunk, outputs in zip(chunks, run.iterations, strict=True):
        state = 1.5 * state + chunk
        np.testing.assert_allclose(outputs["new_h"], state, rtol=1e-6)


def test_inputs_of_a_file_stay_as_they_are_and_a_missing_cache_begins_empty(polycmp, models, tmp_path):
    """A padded prompt: its mask and positions are the user's, and go on from there."""
    mask = np.array([[0, 0, 1, 1], [1, 1, 1, 1]])
    positions = np.array([[0, 0, 0, 1], [0, 1, 2, 3]])
    np.savez(
        "prompt.npz", input_ids=np.array([[0, 0, 5, 6], [1, 2, 3, 4]]), attention_mask=mask, position_ids=positions
    )
    words = (*STEPS, "--load-inputs", "prompt.npz", "--save-inputs", "i.npz")
    done = polycmp("run", "good.onnx", "-b", "onnxrt", "-b", "onnx", *words)
    assert done.status == 0, done.out + done.err
    from polycmp.results.files import open_inputs

    feeds = list(open_inputs(["i.npz"]))
    assert feeds[0]["past_key_values.1.value"].shape == (2, 2, 0, 8)
    np.testing.assert_array_equal(feeds[0]["attention_mask"], mask)
    np.testing.assert_array_equal(feeds[4]["attention_mask"], [[0, 0, *[1] * 6], [1] * 8])
    np.testing.assert_array_equal(feeds[4]["position_ids"], [[5], [7]])


def test_a_cache_with_a_shape_that_was_asked_for_is_the_data_loaders(polycmp, models, tmp_path):
    done = polycmp("run", "good.onnx", "-b", "onnxrt", *STEPS, "--input-shapes", "past=3", "--save-inputs", "i.npz")
    assert done.status == 0, done.out + done.err
    from polycmp.results.files import open_inputs

    first = next(iter(open_inputs(["i.npz"])))
    assert first["past_key_values.0.key"].shape == (1, 2, 3, 8)
    assert np.abs(first["past_key_values.0.key"]).max() > 0
    assert first["position_ids"][0, 0] == 3
    assert first["attention_mask"].shape[1] == 3 + first["input_ids"].shape[1]


def test_each_backend_may_choose_its_own_tokens(polycmp, models, tmp_path):
    words = ("--steps", 12, "--state", STATE, "--feed", "input_ids=own_argmax(logits)", "--report", "r.json")
    done = polycmp("run", "good.onnx", "-b", "onnxrt:model=wrong.onnx,name=new", "-b", "onnxrt", *words)
    assert done.status == 1
    # After the first other token the texts are other ones, and the candidate's keys with them, in all layers.
    found = steps_of(tmp_path)["candidates"]["new"]["own_state"]
    assert "present.0.value" in found[-1]["failed"]


def test_a_function_may_make_an_input(polycmp, models, tmp_path):
    (tmp_path / "more.py").write_text(
        "import numpy as np\ndef tokens(step, feed, outputs):\n    assert 'present.0.key' in outputs\n"
        "    return np.full((1, 2), step)\n"
    )
    words = ("--feed", "input_ids=more.py:tokens", "--save-inputs", "i.npz")
    done = polycmp("run", "good.onnx", "-b", "onnxrt", *STEPS, *words)
    assert done.status == 0, done.out + done.err
    from polycmp.results.files import open_inputs

    feeds = list(open_inputs(["i.npz"]))
    np.testing.assert_array_equal(feeds[3]["input_ids"], [[2, 2]])


def test_a_saved_run_is_the_reference_and_gives_the_state(polycmp, models, tmp_path):
    saved = polycmp("run", "good.onnx", "-b", "onnxrt:name=device", *STEPS, "--save-outputs", "device.npz")
    assert saved.status == 0, saved.out + saved.err
    words = (*STEPS, "--load-outputs", "device.npz", "--report", "r.json")
    assert polycmp("run", "good.onnx", "-b", "onnx", *words).status == 0
    assert steps_of(tmp_path)["candidates"]["onnx"]["cause"] is None
    done = polycmp("run", "forgets.onnx", "-b", "onnx", *words)
    assert done.status == 1
    assert steps_of(tmp_path)["candidates"]["onnx"]["first_on_reference_state"] == [0, 2]


def test_a_run_file_holds_the_steps(polycmp, models, tmp_path):
    written = polycmp("run", "good.onnx", "-b", "onnxrt", "-b", "onnx", *STEPS, "--write-config", "run.toml")
    assert written.status == 0
    text = (tmp_path / "run.toml").read_text()
    assert "steps = 5" in text and "present" in text
    done = polycmp("run", "--config", "run.toml", "--report", "r.json")
    assert done.status == 0, done.out + done.err
    assert steps_of(tmp_path)["steps"] == 5


def test_backends_in_other_processes_take_steps_too(polycmp, models):
    done = polycmp("run", "good.onnx", "-b", "onnxrt", "-b", "onnx", *STEPS, "--use-subprocess")
    assert done.status == 0, done.out + done.err
    assert "agrees with onnx in all 5 steps" in done.out


def test_caches_are_known_by_the_names_that_decoders_use(polycmp, models, tmp_path):
    words = ("run", "good.onnx", "-b", "onnxrt:model=forgets.onnx", "-b", "onnxrt")
    done = polycmp(*words, "--steps", 5, "--report", "r.json")
    told = polycmp(*words, *STEPS, "--report", "told.json")
    assert done.status == told.status == 1
    assert f"outputs go back as decoders call them: --state '{STATE}'" in " ".join(done.out.split())
    assert "decoders call them" not in told.out
    assert steps_of(tmp_path) == steps_of(tmp_path, "told.json")


def test_a_size_that_only_the_cache_has_is_given_beside_a_cache_that_begins_empty(polycmp, tmp_path):
    model = decoder()
    for item in [*model.graph.input, *model.graph.output]:
        if item.name.startswith(("past", "present")):
            item.type.tensor_type.shape.dim[3].dim_param = "head"
    onnx.save(model, tmp_path / "m.onnx")
    words = ("run", "m.onnx", "-b", "onnxrt", "-b", "onnx", "--steps", 3, "--input-shapes", "head=8", "sequence=5")
    done = polycmp(*words, "--report", "r.json")
    assert done.status == 0, done.out + done.err
    made = json.loads((tmp_path / "r.json").read_text())["inference_results"]["onnx"]["outputs"]
    assert made["present.0.key"]["shape"] == [1, 2, 7, 8]
    np.savez(tmp_path / "in.npz", input_ids=[[1, 2]], attention_mask=[[1, 1]], position_ids=[[0, 1]])
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "--steps", 3, "--load-inputs", "in.npz")
    said = " ".join(done.out.split())
    assert "the size of head is not known and was taken to be 1: --input-shapes head=N" in said
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "--steps", 3, "--load-inputs", "in.npz", "--input-shapes", "head=8")
    assert done.status == 0, done.out + done.err
    assert "the size of head" not in done.out


def test_a_state_with_other_names_has_to_be_told(polycmp, tmp_path):
    from onnx import TensorProto, helper

    shape = (TensorProto.FLOAT, [1, 2])
    nodes = [helper.make_node("Add", ["before", "x"], ["after"], name="add")]
    onnx.save(graph_model(nodes, [("x", *shape), ("before", *shape)], [("after", *shape)]), tmp_path / "m.onnx")
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "--steps", 3)
    assert done.status == 2
    text = " ".join(done.err.split())
    assert "--steps and --feed need --state: which outputs go into which inputs" in text
    assert "the outputs are after; the inputs are x, before" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--state", STATE), ("--state needs --steps", "--steps 8")),
        (
            ("--steps", 3, "--state", "nothing.*=x"),
            ("no output matches 'nothing.*'", "the outputs are present.0.key"),
        ),
        (("--steps", 3, "--state", r"present\.(.*)=past.\1"), ("'past.0.key', which is not an input", "would fit")),
        (("--steps", 3, "--state", "present(=x"), ("'present(' is not a regular expression",)),
        (("--steps", 3, "--state", r"logits=past\2"), ("asks for a group that the expression lacks",)),
        (("--steps", 3, "--state", "present"), ("'present' is not OUTPUT=INPUT",)),
        (("--steps", 3, "--state", "present.*=past_key_values.0.key"), ("both 'present.0.key' and 'present.0.value'",)),
        (
            ("--steps", 3, "--state", "logits=past_key_values.0.key"),
            ("the output 'logits' cannot be fed to the input 'past_key_values.0.key'", "has shape [batch,sequence,40]"),
        ),
        (("--steps", 3, "--state", "logits=input_ids"), ("holds float32, the input wants int64", "--state 'OUTPUT=")),
        ((*STEPS, "--feed", "input=keep"), ("the model has no input 'input'", "input_ids")),
        ((*STEPS, "--feed", "input_ids=best"), ("there is no such rule", "argmax(OUTPUT)")),
        ((*STEPS, "--feed", "input_ids=argmax(logit)"), ("has no output 'logit'", "logits")),
        ((*STEPS, "--feed", "past_key_values.0.key=keep"), ("--state already feeds",)),
        ((*STEPS, "--sequential-runners"), ("--sequential-runners and --steps exclude each other",)),
        ((*STEPS, "--gen-script", "x.py"), ("a script cannot feed outputs back",)),
        (("--data-loader", "steps"), ("it makes no inputs",)),
    ],
)
def test_what_cannot_be_is_wrong_usage_and_says_what_to_type(polycmp, models, words, says):
    done = polycmp("run", "good.onnx", "-b", "onnxrt", "-b", "onnx", *words)
    assert done.status == 2, done.out + done.err
    text = " ".join(done.err.split())
    for part in says:
        assert part in text


def test_a_state_that_stops_fitting_on_the_way_is_told(polycmp, tmp_path):
    """The output grows, and the model does not say so."""
    from onnx import TensorProto, helper

    nodes = [helper.make_node("Concat", ["h", "x"], ["y"], axis=1, name="join")]
    model = graph_model(
        nodes,
        [("x", TensorProto.FLOAT, [1, 2]), ("h", TensorProto.FLOAT, [1, 2])],
        [("y", TensorProto.FLOAT, ["a", "b"])],
    )
    onnx.save(model, tmp_path / "m.onnx")
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "--steps", 3, "--state", "y=h")
    assert done.status == 2
    text = " ".join(done.err.split())
    assert "the output 'y' cannot be fed to the input 'h'" in text
    assert "[1,4], the input wants [1,2]" in text
