"""Exports small models of transformers' architectures with random weights, by both of PyTorch's exporters.

    python -m truth.exporting

writes NAME.onnx and NAME.npz, the inputs, to a folder under .cache/truth. It runs where torch and transformers are
installed, which `make truth` does on its own; what cannot be exported is said and left out, and nothing else suffers.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

#: Another one as soon as this file is.
FOLDER = (
    Path(__file__).parents[1]
    / ".cache"
    / "truth"
    / f"exports-{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]}"
)
#: Hidden size, attention heads, layers.
WIDTH, HEADS, LAYERS = 64, 4, 2
VOCABULARY = 128


class Export(NamedTuple):
    """A module to export.

    Attributes:
        module: Takes the inputs in their order.
        inputs: By name.
        outputs: Names.
        dynamic: The dimensions of each input that are free, by name of the input and place.
    """

    module: Any
    inputs: dict[str, Any]
    outputs: list[str]
    dynamic: dict[str, dict[int, str]]


def _wrapped(run: Callable[..., Any], *modules: Any) -> Any:
    """Return a module that calls a function; those modules that it uses belong to it."""
    import torch

    class Wrapped(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.parts = torch.nn.ModuleList(modules)

        def forward(self, *inputs: Any) -> Any:
            return run(*inputs)

    return Wrapped().eval()


def _words(batch: int = 2, length: int = 10) -> Any:
    import torch

    return torch.randint(3, VOCABULARY, (batch, length))


def _bert() -> Export:
    """Encoder with padding masks."""
    import torch
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS,
                                 num_attention_heads=HEADS, intermediate_size=2 * WIDTH,
                                 max_position_embeddings=32)).eval()  # fmt: skip
    mask = torch.ones(2, 10, dtype=torch.int64)
    mask[1, 6:] = 0
    free = {name: {0: "batch", 1: "sequence"} for name in ("input_ids", "attention_mask")}
    run = lambda ids, mask: model(input_ids=ids, attention_mask=mask).last_hidden_state  # noqa: E731
    return Export(_wrapped(run, model), {"input_ids": _words(), "attention_mask": mask}, ["hidden"], free)


def _gpt2() -> Export:
    """Decoder with a cache of keys and values."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel
    from transformers.cache_utils import DynamicCache

    model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
                                       n_positions=32, bos_token_id=0, eos_token_id=0)).eval()  # fmt: skip

    def run(ids: Any, mask: Any, *past: Any) -> Any:
        cache = DynamicCache(list(zip(past[::2], past[1::2], strict=True)))
        made = model(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True)
        return made.logits, *(part for layer in made.past_key_values.layers for part in (layer.keys, layer.values))

    names = [f"past.{layer}.{part}" for layer in range(LAYERS) for part in ("key", "value")]
    past = {name: torch.randn(1, HEADS, 6, WIDTH // HEADS) for name in names}
    inputs = {"input_ids": _words(1, 1), "attention_mask": torch.ones(1, 7, dtype=torch.int64), **past}
    free = {"attention_mask": {1: "total"}, **{name: {2: "past"} for name in names}}
    present = [name.replace("past", "present") for name in names]
    return Export(_wrapped(run, model), inputs, ["logits", *present], free)


def _llama() -> Export:
    """Decoder with grouped queries, rotary positions and root-mean-square normalisation."""
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS,
                                         num_attention_heads=HEADS, num_key_value_heads=2, max_position_embeddings=32,
                                         intermediate_size=2 * WIDTH)).eval()  # fmt: skip
    run = lambda ids: model(input_ids=ids, use_cache=False).logits  # noqa: E731
    return Export(_wrapped(run, model), {"input_ids": _words()}, ["logits"], {})


def _vit() -> Export:
    """Vision transformer."""
    import torch
    from transformers import ViTConfig, ViTModel

    model = ViTModel(ViTConfig(hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                               intermediate_size=2 * WIDTH, image_size=32, patch_size=8)).eval()  # fmt: skip
    run = lambda image: model(pixel_values=image).last_hidden_state  # noqa: E731
    return Export(_wrapped(run, model), {"image": torch.randn(2, 3, 32, 32)}, ["hidden"], {"image": {0: "batch"}})


def _resnet() -> Export:
    """Residual network with normalisations whose statistics are not those of a fresh model."""
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    model = ResNetForImageClassification(ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[2, 2],
                                                      layer_type="bottleneck", num_labels=10))  # fmt: skip
    with torch.no_grad():
        for _ in range(3):
            model(torch.randn(4, 3, 32, 32))
    model.eval()
    run = lambda image: model(pixel_values=image).logits  # noqa: E731
    return Export(_wrapped(run, model), {"image": torch.randn(2, 3, 32, 32)}, ["logits"], {"image": {0: "batch"}})


def _whisper() -> Export:
    """Encoder of speech: convolutions over a spectrogram, then attention."""
    import torch
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    model = WhisperEncoder(WhisperConfig(d_model=WIDTH, encoder_layers=LAYERS, encoder_attention_heads=HEADS,
                                         encoder_ffn_dim=2 * WIDTH, num_mel_bins=16, max_source_positions=24,
                                         pad_token_id=0)).eval()  # fmt: skip
    run = lambda spectrogram: model(spectrogram).last_hidden_state  # noqa: E731
    return Export(_wrapped(run, model), {"spectrogram": torch.randn(1, 16, 48)}, ["hidden"], {})


def _wav2vec2() -> Export:
    """Encoder of sound waves: strided convolutions with group normalisation, then attention."""
    import torch
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    model = Wav2Vec2Model(Wav2Vec2Config(hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                                         intermediate_size=2 * WIDTH, conv_dim=(16, 16, 16), conv_stride=(5, 2, 2),
                                         conv_kernel=(10, 3, 3), num_feat_extract_layers=3,
                                         num_conv_pos_embeddings=8,
                                         num_conv_pos_embedding_groups=4)).eval()  # fmt: skip
    run = lambda wave: model(wave).last_hidden_state  # noqa: E731
    return Export(_wrapped(run, model), {"wave": torch.randn(1, 800)}, ["hidden"], {})


MAKERS: dict[str, Callable[[], Export]] = {
    "bert": _bert,
    "gpt2": _gpt2,
    "llama": _llama,
    "vit": _vit,
    "resnet": _resnet,
    "whisper": _whisper,
    "wav2vec2": _wav2vec2,
}
#: The exporters: by torch.export, and by TorchScript.
EXPORTERS = {"dynamo": True, "torchscript": False}
#: What one of them cannot do: TorchScript has no `diff`, of which transformers makes causal masks.
_WITHOUT = frozenset({("llama", "torchscript")})


def names() -> Iterator[tuple[str, str, str]]:
    """Yield each file's name, its architecture and its exporter."""
    for architecture in MAKERS:
        for exporter in EXPORTERS:
            if (architecture, exporter) not in _WITHOUT:
                yield f"{architecture}-{exporter}", architecture, exporter


def _keep_magnitudes(module: Any) -> None:
    """Draw weights so that each product keeps the magnitude; what a fresh model draws hardly adds to its residuals."""
    import torch

    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=parameter[0].numel() ** -0.5)


def export(name: str, architecture: str, exporter: str) -> None:
    """Write one model and its inputs.

    Args:
        name: Of the files.
        architecture: A key of `MAKERS`.
        exporter: A key of `EXPORTERS`.
    """
    import torch

    torch.manual_seed(0)
    made = MAKERS[architecture]()
    _keep_magnitudes(made.module)
    with_export = EXPORTERS[exporter]
    dims = {label: torch.export.Dim.DYNAMIC for of in made.dynamic.values() for label in of.values()}
    shapes = tuple({place: dims[label] for place, label in made.dynamic.get(one, {}).items()} for one in made.inputs)
    more: dict[str, Any] = {"opset_version": 17, "dynamic_axes": made.dynamic}
    if with_export:
        more = {"external_data": False, "dynamic_shapes": (shapes,) if made.dynamic else None}
    path = FOLDER / f"{name}.onnx"
    torch.onnx.export(
        made.module, tuple(made.inputs.values()), str(path.with_suffix(".new")), input_names=list(made.inputs),
        output_names=made.outputs, dynamo=with_export, **more,
    )  # fmt: skip
    np.savez(path.with_suffix(".npz"), allow_pickle=False, **{key: item.numpy() for key, item in made.inputs.items()})
    path.with_suffix(".new").replace(path)


def main() -> int:
    """Export what is not there yet and return how much could not be."""
    warnings.filterwarnings("ignore")
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, architecture, exporter in names():
        if (FOLDER / f"{name}.onnx").exists():
            continue
        try:
            export(name, architecture, exporter)
        except Exception as error:  # noqa: BLE001 - whatever a release of torch or transformers does not export
            failed += 1
            line = traceback.extract_tb(error.__traceback__)[-1]
            print(f"{name} cannot be exported: {type(error).__name__}: {str(error)[:200]} ({line.name})", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
