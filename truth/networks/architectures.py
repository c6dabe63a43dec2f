"""Networks of transformers with random weights; each product keeps magnitudes."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

#: Size of the vocabulary of networks that read words.
VOCABULARY = 128


class Network(NamedTuple):
    """A network to export.

    Attributes:
        run: Calls the module with the inputs in their order.
        module: The module.
        inputs: By name.
        has_statistics: Whether normalisations keep means and variances, which are to be those of some inputs.
    """

    run: Callable[..., Any]
    module: Any
    inputs: dict[str, Any]
    has_statistics: bool = False


def _words(batch: int = 2, length: int = 12) -> Any:
    import torch

    return torch.randint(3, VOCABULARY, (batch, length))


def _image(batch: int = 2, size: int = 32) -> Any:
    import torch

    return torch.randn(batch, 3, size, size)


_TRANSFORMER = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}


def _albert() -> Network:
    """One layer, three times."""
    import transformers as t

    model = t.AlbertModel(t.AlbertConfig(
        vocab_size=VOCABULARY, embedding_size=32, hidden_size=64, max_position_embeddings=32, num_hidden_layers=3,
        num_attention_heads=4, intermediate_size=128,
    ))  # fmt: skip
    return Network(lambda ids: model(input_ids=ids).last_hidden_state, model, {"ids": _words()})


def _bloom() -> Network:
    """Decoder whose attention is biased by distance."""
    import torch
    import transformers as t

    model = t.BloomForCausalLM(t.BloomConfig(vocab_size=VOCABULARY, hidden_size=64, n_layer=2, n_head=4))
    inputs = {"ids": _words(), "mask": torch.ones(2, 12, dtype=torch.int64)}
    run = lambda ids, mask: model(input_ids=ids, attention_mask=mask, use_cache=False).logits  # noqa: E731
    return Network(run, model, inputs)


def _deberta() -> Network:
    """Attention between words and distances, each with the other."""
    import transformers as t

    model = t.DebertaV2Model(t.DebertaV2Config(
        vocab_size=VOCABULARY, hidden_size=64, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8,
        norm_rel_ebd="layer_norm", share_att_key=True, max_position_embeddings=32, **_TRANSFORMER,
    ))  # fmt: skip
    return Network(lambda ids: model(input_ids=ids).last_hidden_state, model, {"ids": _words()})


def _esm() -> Network:
    """Encoder of proteins with rotary positions."""
    import torch
    import transformers as t

    model = t.EsmModel(t.EsmConfig(vocab_size=33, hidden_size=64, position_embedding_type="rotary", pad_token_id=1,
                                   mask_token_id=32, max_position_embeddings=64, **_TRANSFORMER))  # fmt: skip
    ids = torch.randint(4, 24, (2, 16))
    return Network(lambda ids: model(input_ids=ids).last_hidden_state, model, {"ids": ids})


def _gemma2() -> Network:
    """Decoder with logits that are capped, and attention to a window."""
    import transformers as t

    model = t.Gemma2ForCausalLM(t.Gemma2Config(
        vocab_size=VOCABULARY, hidden_size=64, num_key_value_heads=2, head_dim=16, max_position_embeddings=32,
        sliding_window=6, attn_implementation="eager", **_TRANSFORMER,
    ))  # fmt: skip
    return Network(lambda ids: model(input_ids=ids, use_cache=False).logits, model, {"ids": _words()})


def _patchtst() -> Network:
    """Forecast of series, by patches."""
    import torch
    import transformers as t

    model = t.PatchTSTForPrediction(t.PatchTSTConfig(
        num_input_channels=3, context_length=48, patch_length=8, patch_stride=4, d_model=32, num_hidden_layers=2,
        num_attention_heads=4, ffn_dim=64, prediction_length=12, channel_attention=False,
    ))  # fmt: skip
    series = torch.randn(2, 48, 3).cumsum(1)
    return Network(lambda series: model(past_values=series).prediction_outputs, model, {"series": series})


def _perceiver() -> Network:
    """Attention of a few latent vectors to a long input."""
    import torch
    import transformers as t

    model = t.PerceiverModel(t.PerceiverConfig(
        d_model=32, d_latents=48, num_latents=8, num_blocks=1, num_self_attends_per_block=2,
        num_self_attention_heads=4, num_cross_attention_heads=4,
    ))  # fmt: skip
    return Network(lambda x: model(inputs=x).last_hidden_state, model, {"x": torch.randn(2, 20, 32)})


def _poolformer() -> Network:
    """Pooling in place of attention."""
    import transformers as t

    model = t.PoolFormerForImageClassification(t.PoolFormerConfig(
        depths=[1, 1, 1], hidden_sizes=[16, 32, 48], patch_sizes=[7, 3, 3], strides=[4, 2, 2], padding=[2, 1, 1],
        num_encoder_blocks=3, num_labels=10,
    ))  # fmt: skip
    return Network(lambda image: model(pixel_values=image).logits, model, {"image": _image(2, 48)})


def _regnet() -> Network:
    """Convolutions in groups, with channels that are weighted."""
    import transformers as t

    model = t.RegNetForImageClassification(t.RegNetConfig(
        embedding_size=16, hidden_sizes=[16, 32, 64], depths=[1, 2, 1], groups_width=8, layer_type="y", num_labels=10,
    ))  # fmt: skip
    return Network(lambda image: model(pixel_values=image).logits, model, {"image": _image()}, True)


def _segformer() -> Network:
    """Classes of pixels, with attention whose keys are fewer than its queries."""
    import transformers as t

    model = t.SegformerForSemanticSegmentation(t.SegformerConfig(
        num_encoder_blocks=3, depths=[1, 1, 1], sr_ratios=[4, 2, 1], hidden_sizes=[16, 32, 48], patch_sizes=[7, 3, 3],
        strides=[4, 2, 2], num_attention_heads=[1, 2, 3], mlp_ratios=[2, 2, 2], decoder_hidden_size=32, num_labels=7,
    ))  # fmt: skip
    return Network(lambda image: model(pixel_values=image).logits, model, {"image": _image(1, 64)}, True)


def _squeezebert() -> Network:
    """Encoder whose products are convolutions in groups."""
    import transformers as t

    model = t.SqueezeBertModel(t.SqueezeBertConfig(vocab_size=VOCABULARY, hidden_size=64, embedding_size=64,
                                                   max_position_embeddings=32, **_TRANSFORMER))  # fmt: skip
    return Network(lambda ids: model(input_ids=ids)[0], model, {"ids": _words()})


NETWORKS: dict[str, Callable[[], Network]] = {
    "albert": _albert,
    "bloom": _bloom,
    "deberta": _deberta,
    "esm": _esm,
    "gemma2": _gemma2,
    "patchtst": _patchtst,
    "perceiver": _perceiver,
    "poolformer": _poolformer,
    "regnet": _regnet,
    "segformer": _segformer,
    "squeezebert": _squeezebert,
}


def export(name: str, folder: Path) -> Path:
    """Write a network and its inputs, `base.onnx` and `x.npz`, and return the file of the network.

    Args:
        name: A key of `NETWORKS`.
        folder: Where they go.
    """
    import torch

    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.manual_seed(3)
    network = NETWORKS[name]()
    network.module.eval()
    with torch.no_grad():
        for parameter in network.module.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=parameter[0].numel() ** -0.5)
            elif parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
        if network.has_statistics:
            network.module.train()
            for _ in range(5):
                network.module(*(torch.randn_like(torch.cat([x, x])) for x in network.inputs.values()))
            network.module.eval()
    path = folder / "base.onnx"
    _write(_called(network.run, network.module), network.inputs, path)
    np.savez(folder / "x.npz", **{key: value.numpy() for key, value in network.inputs.items()})
    return path


def _called(run: Callable[..., Any], module: Any) -> Any:
    """Return a module that calls a function, to which the function's own belongs."""
    import torch

    class Called(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.part = module

        def forward(self, *inputs: Any) -> Any:
            return run(*inputs)

    return Called().eval()


def _write(module: Any, inputs: dict[str, Any], path: Path) -> None:
    """Export with torch.export, or by TorchScript where that cannot."""
    import torch

    def write(**way: Any) -> None:
        torch.onnx.export(
            module, tuple(inputs.values()), str(path), input_names=list(inputs), output_names=["y"], **way
        )

    try:
        write(dynamo=True, external_data=False)
    except torch.onnx.errors.OnnxExporterError:
        write(dynamo=False, opset_version=17)
