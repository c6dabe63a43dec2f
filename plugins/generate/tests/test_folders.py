"""Folders of transformers and of ONNX Runtime GenAI: make test-generate."""

from __future__ import annotations

import shlex
import subprocess
import sys

import numpy as np
import pytest

from polycmp.cli.main import run

pytest.importorskip("transformers")
torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime_genai")

WORDS = "--prompts prompts.txt --steps 24"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A small Llama with random weights, surer of itself than such are; the same for GenAI, in float and in 4 bits."""
    from tokenizers import Tokenizer, models
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    made = tmp_path_factory.mktemp("folders")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=80, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=128, bos_token_id=0, eos_token_id=79,
        initializer_range=0.12, tie_word_embeddings=False,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(made / "model")
    tokenizer = Tokenizer(models.WordLevel({f"w{number}": number for number in range(80)}, "w0"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="w79").save_pretrained(made / "model")
    for precision in ("fp32", "int4"):
        command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", str(made / "model")]
        command += ["-m", "none", "-o", str(made / precision), "-p", precision, "-e", "cpu"]
        subprocess.run(command, check=True, capture_output=True)
    random = np.random.default_rng(0)
    prompts = [" ".join(map(str, random.integers(0, 60, 6))) for _ in range(12)]
    (made / "prompts.txt").write_text("\n".join(prompts))
    return made


def test_genai_beside_transformers_is_not_accused(folders, generate):
    said = generate(f"model -b genai:model=fp32 -b transformers {WORDS}", folders)
    assert said.status == 0
    assert "the same top token at all 288 places" in said.out
    assert 0 < said.document["kl"]["high"] < 1e-9
    assert said.document["new"]["version"]
    assert said.document["old"]["version"]


def test_four_bits_of_genai_are_worse(folders, generate):
    said = generate(f"model -b genai:model=int4 -b transformers {WORDS}", folders)
    assert said.status == 1
    assert said.document["kl"]["low"] > 0.01


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_coarser_types_are_not_accused(folders, generate, dtype):
    said = generate(f"model -b transformers:dtype={dtype} -b transformers {WORDS}", folders)
    assert said.status == 0
    assert 1e-9 < said.document["kl"]["value"] < 0.01


def test_a_file_of_genai_runs_in_onnxruntime(folders, generate):
    words = f"model -b onnxrt:model=fp32/model.onnx -b transformers {WORDS} --input-shapes kv_cache_dim=32"
    said = generate(words, folders)
    assert said.status == 0
    assert "the same top token at all 288 places" in said.out


@pytest.mark.parametrize("backend", ["transformers:name=new", "genai:model=fp32,name=new"])
def test_several_texts_at_once_are_not_accused(folders, generate, backend):
    said = generate(f"model -b {backend} -b transformers {WORDS} --batch 5", folders)
    assert said.status == 0
    assert said.document["kl"]["high"] < 1e-9


def test_the_text_is_the_one_that_transformers_writes(folders, generate):
    from transformers import LlamaForCausalLM

    said = generate(f"model -b transformers:name=new -b transformers {WORDS}", folders)
    assert said.status == 0, said
    model = LlamaForCausalLM.from_pretrained(folders / "model")
    prompts = [[int(word) for word in line.split()] for line in (folders / "prompts.txt").read_text().splitlines()]
    for prompt, trace in zip(prompts, said.document["traces"], strict=True):
        text = model.generate(torch.tensor([prompt]), max_new_tokens=24, do_sample=False, eos_token_id=None)
        assert trace["old_tokens"] == text[0, len(prompt) :].tolist()


def test_folders_are_models_of_other_commands(folders, monkeypatch, capsys):
    monkeypatch.chdir(folders)
    np.savez("in.npz", input_ids=np.array([[1, 2, 3, 4, 5]]))
    words = "run model -b genai:model=fp32 -b transformers --load-inputs in.npz"
    assert run([*shlex.split(words), "--tolerance", "auto"]) == 0, capsys.readouterr()
    assert run([*shlex.split(words.replace("fp32", "int4")), "--atol", "1e-4"]) == 1
