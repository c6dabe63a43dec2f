"""`polycmp generate` on small decoders whose files differ in what is known, and what it refuses."""

from __future__ import annotations

import json
import shlex

import numpy as np
import onnx
import onnxruntime
import pytest
from in_parts import a_few
from packaging.version import Version
from scipy.special import rel_entr, softmax

from polycmp.cli.main import run
from polycmp.results.files import open_inputs

WORDS = "-b onnxrt --prompts prompts.txt --steps 24"


def logits_of(session, tokens):
    """Return what ONNX Runtime makes of a whole text, without polycmp: [place, token]."""
    feed = {
        "input_ids": np.array([tokens]), "attention_mask": np.ones((1, len(tokens)), np.int64),
        "position_ids": np.arange(len(tokens))[None],
    }  # fmt: skip
    empty = np.zeros((1, 2, 0, 8), np.float32)
    feed |= {item.name: empty for item in session.get_inputs() if item.name.startswith("past")}
    return session.run(["logits"], feed)[0][0]


def test_four_bits_are_worse_within_300_tokens(decoders, generate):
    said = generate(f"int4.onnx float.onnx {WORDS}", decoders)
    assert said.status == 1
    assert "FAILED: worse: KL " in said.out
    found = said.document
    assert found["answer"] == "worse"
    assert (found["prompts"], found["tokens"]) == (12, 288)
    assert found["kl"]["low"] > found["max_kl"] == 0.01
    assert found["same_top"] < 1
    assert "where the texts part:" in said.out


def test_eight_bits_are_not_accused(decoders, generate):
    said = generate(f"int8.onnx float.onnx {WORDS}", decoders)
    assert said.status == 0
    assert "PASSED: not worse: KL " in said.out
    assert 0 < said.document["kl"]["value"] < said.document["kl"]["high"] < 0.01


@pytest.mark.parametrize(
    "words",
    a_few(
        [
            f"float.onnx float.onnx {WORDS} --batch 5",
            f"whole.onnx float.onnx {WORDS}",
            "float.onnx -b onnxrt -b onnx --prompts prompts.txt --steps 24",
            "float.onnx -b onnxrt:optimization=off -b onnxrt --prompts prompts.txt --steps 24",
            f"float.onnx whole.onnx {WORDS}",
        ],
        2,
    ),
    ids=["batch", "without a cache", "backend", "optimisation", "with a cache"],
)
def test_what_changes_nothing_but_rounding_writes_the_same(decoders, generate, words):
    if "whole" in words and Version(onnxruntime.__version__) < Version("1.24"):
        pytest.skip(f"ONNX Runtime {onnxruntime.__version__} dies where it folds a cache of nothing: 1.24 does not")
    said = generate(words, decoders)
    assert said.status == 0
    assert "the same top token at all 288 places" in said.out
    assert said.document["kl"]["high"] < 1e-9
    assert all(trace["old"] == trace["new"] for trace in said.document["traces"])


def test_the_figures_are_those_of_the_logits(decoders, generate):
    """Texts, tops, divergences and margins, calculated here from ONNX Runtime's logits."""
    said = generate(f"int4.onnx float.onnx {WORDS}", decoders)
    new, old = (onnxruntime.InferenceSession(decoders / f"{name}.onnx") for name in ("int4", "float"))
    prompts = [[int(word) for word in line.split()] for line in (decoders / "prompts.txt").read_text().splitlines()]
    for prompt, trace in zip(prompts, said.document["traces"], strict=True):
        text, free = list(prompt), list(prompt)
        for _ in range(24):
            text.append(int(logits_of(old, text)[-1].argmax()))
            free.append(int(logits_of(new, free)[-1].argmax()))
        places = slice(len(prompt) - 1, -1)
        q, p = logits_of(new, text)[places].astype(float), logits_of(old, text)[places].astype(float)
        assert trace["old_tokens"] == text[len(prompt) :]
        assert trace["new_tokens"] == free[len(prompt) :]
        assert trace["top_tokens"] == q.argmax(-1).tolist()
        divergence = rel_entr(softmax(p, axis=-1), softmax(q, axis=-1)).sum(axis=-1)
        np.testing.assert_allclose(trace["kl"], divergence, rtol=1e-3, atol=1e-9)
        for part in trace["parts"]:
            row = p[part["place"]]
            assert part["margin"] == pytest.approx(row.max() - row[trace["top_tokens"][part["place"]]], abs=1e-5)
            assert part["tie"] == (part["margin"] <= said.document["rounding"])
        if trace["parts"]:  # up to there both write the same
            first = trace["parts"][0]["place"]
            assert trace["new_tokens"][:first] == trace["old_tokens"][:first]
            assert trace["new_tokens"][first] != trace["old_tokens"][first]


@pytest.mark.parametrize("size", [2, 5])
def test_texts_go_together_without_a_mask_and_without_a_cache(generate, bigrams, tmp_path, size):
    scores = np.random.default_rng(0).normal(0, 2, (9, 9))
    onnx.save(bigrams(scores), tmp_path / "old.onnx")
    onnx.save(bigrams(scores + np.random.default_rng(1).normal(0, 0.3, (9, 9))), tmp_path / "new.onnx")
    (tmp_path / "prompts.txt").write_text("1\n2 3\n3\n4 1\n5\n6 6 6\n8\n")
    alone, together = (generate(f"new.onnx old.onnx {WORDS} --batch {number}").document for number in (1, size))
    assert together["batch"] == size
    assert together["kl"]["value"] == pytest.approx(alone["kl"]["value"], rel=1e-9)
    ways = [sorted(document["traces"], key=lambda trace: trace["prompt"]) for document in (alone, together)]
    assert ways[0] == ways[1]


def test_a_size_that_a_cache_leaves_open_is_asked_for(decoders, generate, tmp_path):
    model = onnx.load(decoders / "float.onnx")
    for item in [*model.graph.input, *model.graph.output]:
        if item.name.startswith(("past", "present")):
            item.type.tensor_type.shape.dim[3].dim_param = "head"
    onnx.save(model, tmp_path / "open.onnx")
    words = f"{tmp_path / 'open.onnx'} float.onnx -b onnxrt --prompts two.txt --steps 4"
    assert "was taken to be 1: --input-shapes head=N" in generate(words, decoders).out
    said = generate(f"{words} --input-shapes head=8", decoders)
    assert said.status == 0
    assert "head" not in said.out.replace("onnxrt:model=", "")


def test_a_cache_that_forgets_shows_from_there_on(decoders, generate, tmp_path):
    (tmp_path / "prompts.txt").write_text("\n".join(f"{n} 3 5 7 {n + 1} 2 4 6" for n in range(8)))
    said = generate(f"{decoders / 'forgets.onnx'} {decoders / 'float.onnx'} -b onnxrt --prompts prompts.txt --steps 24")
    curve = np.mean([trace["kl"] for trace in said.document["traces"]], 0)
    assert curve[:4].max() < 1e-9  # the prompt has 8 tokens, positions 12 to 15 are lost
    assert curve[8:].mean() > 1e-3


def test_inputs_that_exporters_add_are_known(decoders, generate, tmp_path):
    """A token gets a thousand where the cache is said to hold something and does not, or some logits are left out."""
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load(decoders / "float.onnx")
    graph = model.graph
    next(node for node in graph.node if node.output[0] == "logits").output[0] = "plain"
    graph.input.append(helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1]))
    graph.input.append(helper.make_tensor_value_info("num_logits_to_keep", TensorProto.INT64, []))
    spike = np.zeros(40, np.float32)
    spike[0] = 1000
    constants = {"two": np.array(2), "none": np.array(0), "spike": spike}
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    graph.node.extend(
        [
            helper.make_node("Shape", ["past_key_values.0.key"], ["cache_shape"]),
            helper.make_node("Gather", ["cache_shape", "two"], ["length"]),
            helper.make_node("Greater", ["length", "none"], ["holds"]),
            helper.make_node("Xor", ["holds", "use_cache_branch"], ["lies"]),
            helper.make_node("Greater", ["num_logits_to_keep", "none"], ["fewer"]),
            helper.make_node("Or", ["lies", "fewer"], ["wrong"]),
            helper.make_node("Cast", ["wrong"], ["factor"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["factor", "spike"], ["more"]),
            helper.make_node("Add", ["plain", "more"], ["logits"]),
        ]
    )
    onnx.save(model, tmp_path / "more.onnx")
    said = generate(f"{tmp_path / 'more.onnx'} float.onnx {WORDS}", decoders)
    assert said.status == 0
    assert said.document["kl"]["high"] == 0


def test_the_worst_prompt_leads_to_the_operator(decoders, generate, tmp_path, capsys):
    pytest.importorskip("polycmp_locate")
    words = f"forgets.onnx float.onnx {WORDS} --max-kl 1e-5 --save-worst {tmp_path / 'worst.npz'}"
    said = generate(words, decoders)
    assert said.status == 1
    step = said.out.partition("next: polycmp ")[2].partition(" wrote")[0]
    assert step.startswith(f"locate forgets.onnx float.onnx -b onnxrt --load-inputs {tmp_path / 'worst.npz'} --steps ")
    assert run(shlex.split(step)) == 1
    assert "key_window" in capsys.readouterr().out


def test_without_a_cache_the_worst_place_is_what_is_saved(generate, bigrams, tmp_path):
    scores = np.eye(6) * 5
    onnx.save(bigrams(scores), tmp_path / "old.onnx")
    scores[3] = 0
    onnx.save(bigrams(scores), tmp_path / "new.onnx")
    (tmp_path / "prompts.txt").write_text("1\n2 3\n2\n")
    said = generate(f"new.onnx old.onnx {WORDS} --save-worst worst.npz --max-kl 0.001")
    [feed] = open_inputs([tmp_path / "worst.npz"])
    assert feed["input_ids"].tolist() == [[2, 3]]
    assert "--steps" not in said.out.partition("next:")[2]


def test_a_tie_is_no_other_answer(generate, bigrams, tmp_path):
    """Of two tokens that are equally good one side takes this one, the other that one."""
    scores = np.full((8, 8), -9.0)
    for token in range(8):
        scores[token, (token + 1) % 8] = 2.0
    scores[3, 6] = scores[3, 4]
    onnx.save(bigrams(scores), tmp_path / "old.onnx")
    scores[3, 6] += 4e-7
    onnx.save(bigrams(scores), tmp_path / "tie.onnx")
    scores[3, 6] = scores[3, 4] - 1e-3
    onnx.save(bigrams(scores), tmp_path / "below.onnx")
    scores[3, 6] = scores[3, 4] + 1e-3
    onnx.save(bigrams(scores), tmp_path / "above.onnx")
    (tmp_path / "prompts.txt").write_text("1\n2\n3\n")
    tie = generate(f"tie.onnx old.onnx {WORDS}")
    assert tie.status == 0
    assert "another top token at 9 of 72 places, 9 of them ties" in tie.out
    close = generate(f"above.onnx below.onnx {WORDS}")
    assert close.status == 0
    assert "another top token at 9 of 72 places" in close.out
    assert "ties (" not in close.out
    assert {part["tie"] for trace in close.document["traces"] for part in trace["parts"]} == {False}


def test_few_prompts_say_so_and_how_many_would_do(decoders, generate):
    said = generate("int4.onnx float.onnx -b onnxrt --prompts two.txt --steps 8", decoders)
    assert said.status == 3
    assert "UNDECIDED: KL " in said.out
    assert "with 2 prompts it is not certain whether that is above 0.01; take " in said.out
    assert said.document["needed_prompts"] > 2
    said = generate("float.onnx float.onnx -b onnxrt --prompts one.txt --steps 8", decoders)
    assert said.status == 3
    assert "one prompt tells nothing of others; take 2" in said.out


def test_the_limit_decides(decoders, generate):
    assert generate(f"int4.onnx float.onnx {WORDS} --max-kl 1", decoders).status == 0
    assert generate(f"int8.onnx float.onnx {WORDS} --max-kl 1e-9", decoders).status == 1


def test_prompts_are_text_where_there_is_a_tokenizer(generate, bigrams, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    names = ["<end>", "the", "cat", "sat", "on", "mat", "dog"]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({name: at for at, name in enumerate(names)}, "<end>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<end>"])
    (tmp_path / "model").mkdir()
    tokenizer.save(str(tmp_path / "model" / "tokenizer.json"))
    (tmp_path / "model" / "generation_config.json").write_text(json.dumps({"eos_token_id": [0]}))
    follows = {1: 2, 2: 3, 3: 4, 4: 5, 5: 0, 0: 1, 6: 3}
    scores = np.full((7, 7), -3.0)
    for token, following in follows.items():
        scores[token, following] = 5.0
    onnx.save(bigrams(scores), tmp_path / "old.onnx")
    scores[2, 6] = 9.0
    onnx.save(bigrams(scores), tmp_path / "new.onnx")
    (tmp_path / "prompts.txt").write_text("the cat\n\nsat on\nthe\n")
    said = generate(f"new.onnx old.onnx {WORDS} --tokenizer model")
    traces = {trace["prompt"]: trace for trace in said.document["traces"]}
    assert {prompt: trace["old"].split() for prompt, trace in traces.items()} == {
        "the cat": ["sat", "on", "mat"], "sat on": ["mat"], "the": ["cat", "sat", "on", "mat"],
    }  # fmt: skip
    assert traces["the cat"]["old_tokens"] == [3, 4, 5, 0]  # what ends a text is its last token
    assert traces["the cat"]["new"].split() == ["dog", "sat", "on", "mat"]
    assert traces["sat on"]["parts"] == []
    assert "old: sat on mat" in said.out
    assert "new: dog sat on mat" in said.out


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ("float.onnx float.onnx -b onnxrt", 2, "which prompts?"),
        ("float.onnx float.onnx -b onnxrt --prompts none.txt", 3, "cannot read the prompts"),
        ("float.onnx float.onnx -b onnxrt --prompts {tmp}/empty.txt", 3, "holds no prompts"),
        ("float.onnx float.onnx -b onnxrt --prompts {tmp}/words.txt", 3, "line 2 is no prompt"),
        ("float.onnx float.onnx -b onnxrt --prompts {tmp}/words.txt --tokenizer none", 3, "no tokenizer"),
        ("float.onnx -b onnxrt --prompts two.txt", 2, "1 sides"),
        ("{tmp}/other.onnx float.onnx -b onnxrt --prompts two.txt", 3, "ranks 3 tokens, the old side 40"),
        ("float.onnx {tmp}/nan.onnx -b onnxrt --prompts {tmp}/low.txt", 3, "logits are NaN"),
        ("{tmp}/unnamed.onnx float.onnx -b onnxrt --prompts two.txt", 2, "which input takes tokens?"),
        ("float.onnx float.onnx -b onnxrt --prompts two.txt --steps 0", 2, "how many tokens?"),
        ("float.onnx float.onnx -b onnxrt --prompts two.txt --batch 0", 2, "batch"),
        ("float.onnx float.onnx -b onnxrt --prompts two.txt --max-kl 0", 2, "max-kl"),
        ("float.onnx float.onnx -b onnxrt --prompts two.txt --confidence 100", 2, "is no confidence"),
        ("", 2, "no backend given"),
    ],
)
def test_what_cannot_be_compared_is_told(decoders, generate, bigrams, tmp_path, words, status, says):
    from onnx import TensorProto, helper

    (tmp_path / "empty.txt").write_text("\n \n")
    (tmp_path / "words.txt").write_text("1 2\nthe cat\n")
    (tmp_path / "low.txt").write_text("1 2\n2 1\n")
    onnx.save(bigrams(np.zeros((40, 3))), tmp_path / "other.onnx")
    onnx.save(bigrams(np.full((40, 40), np.nan)), tmp_path / "nan.onnx")
    x = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["a", "b", "c"]) for name in ("x", "y")]
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    graph = helper.make_graph(nodes, "g", x[:1], x[1:])
    unnamed = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(unnamed, tmp_path / "unnamed.onnx")
    said = generate(words.format(tmp=tmp_path), decoders)
    assert said.status == status
    assert says in said.err
    assert "Traceback" not in said.err


def test_a_side_that_fails_is_named(decoders, generate, tmp_path):
    (tmp_path / "high.txt").write_text("1 2\n99 1\n")  # there is no token 99
    said = generate(f"float.onnx float.onnx -b onnxrt --prompts {tmp_path / 'high.txt'}", decoders)
    assert said.status == 3
    assert "ERROR: " in said.out
    assert said.document["old"]["error"]


def test_nan_of_the_new_side_is_worse(generate, bigrams, tmp_path):
    scores = np.eye(5)
    onnx.save(bigrams(scores), tmp_path / "old.onnx")
    scores[2, 2] = np.nan
    onnx.save(bigrams(scores), tmp_path / "new.onnx")
    (tmp_path / "prompts.txt").write_text("1\n2\n3\n")
    said = generate(f"new.onnx old.onnx {WORDS}")
    assert said.status == 1
    assert "worse: KL inf per token" in said.out
    assert said.document["kl"]["value"] == "inf"


def test_a_page_shows_both_texts_and_the_divergence_along_them(decoders, generate, tmp_path):
    pytest.importorskip("polycmp_report")
    said = generate(f"int4.onnx float.onnx {WORDS} --report {tmp_path / 'page.html'}", decoders)
    page = (tmp_path / "page.html").read_text("utf-8")
    parted = [trace for trace in said.document["traces"] if trace["parts"]]
    assert all(trace["new"] in page and trace["old"] in page for trace in parted)
    assert "Divergence along the text" in page
