"""Small networks of six kinds in PyTorch, with random weights that keep the numbers alive."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

_WIDTH, _HEADS, _LENGTH, _WORDS = 32, 2, 12, 48


class _Inverted(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        wide = 4 * width
        self.parts = nn.Sequential(
            nn.Conv2d(width, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(),
            nn.Conv2d(wide, width, 1, bias=False), nn.BatchNorm2d(width),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x + self.parts(x)


class _Residual(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.one, self.norm_one = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.two, self.norm_two = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.norm_one(self.one(x)))
        return functional.relu(x + self.norm_two(self.two(inner)))


class _Next(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.deep, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.norm(self.deep(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(functional.gelu(self.up(inner)))).permute(0, 3, 1, 2)


class _Attention(nn.Module):  # type: ignore[misc]
    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(_WIDTH, _WIDTH) for _ in range(4))
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape

        def heads(tensor: Tensor) -> Tensor:
            return tensor.view(batch, length, _HEADS, _WIDTH // _HEADS).transpose(1, 2)

        scores = torch.matmul(heads(self.query(x)), heads(self.key(x)).transpose(2, 3)) * 0.4
        if self.causal:
            scores = scores + torch.full((length, length), -1e4).triu(1)
        mixed = torch.matmul(torch.softmax(scores, -1), heads(self.value(x)))
        return self.out(mixed.transpose(1, 2).reshape(batch, length, _WIDTH))


class _Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, first: bool, causal: bool = False) -> None:
        super().__init__()
        self.attention, self.first = _Attention(causal), first
        self.norm_one, self.norm_two = nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH)
        self.up, self.down = nn.Linear(_WIDTH, 4 * _WIDTH), nn.Linear(4 * _WIDTH, _WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        if self.first:
            x = x + self.attention(self.norm_one(x))
            return x + self.down(functional.gelu(self.up(self.norm_two(x))))
        x = self.norm_one(x + self.attention(x))
        return self.norm_two(x + self.down(functional.gelu(self.up(x))))


class _Text(nn.Module):  # type: ignore[misc]
    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(_WORDS, _WIDTH), nn.Parameter(torch.randn(_LENGTH, _WIDTH))
        self.norm = nn.LayerNorm(_WIDTH)
        self.layers = nn.Sequential(*(_Layer(first=causal, causal=causal) for _ in range(2)))
        self.head, self.causal = nn.Linear(_WIDTH, _WORDS if causal else _WIDTH), causal

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places
        if self.causal:
            return self.head(self.norm(self.layers(x)))
        return torch.tanh(self.head(self.layers(self.norm(x))[:, 0]))


class _Vit(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.patches, self.token = nn.Conv2d(3, _WIDTH, 8, stride=8), nn.Parameter(torch.randn(1, 1, _WIDTH))
        self.places = nn.Parameter(torch.randn(17, _WIDTH))
        self.layers = nn.Sequential(*(_Layer(first=True) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(_WIDTH), nn.Linear(_WIDTH, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token, x], 1) + self.places
        return self.head(self.norm(self.layers(x))[:, 0])


def _picture(*parts: nn.Module, width: int) -> nn.Module:
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def networks() -> dict[str, tuple[nn.Module, Any]]:
    """Return the networks by name, each with an input."""
    torch.manual_seed(0)
    stem = nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False)
    pictures = torch.rand(1, 3, 32, 32)
    tokens = torch.randint(0, _WORDS, (1, _LENGTH))
    made: dict[str, tuple[nn.Module, Any]] = {
        "mobilenet": (_picture(stem, nn.BatchNorm2d(16), nn.ReLU6(), _Inverted(16), _Inverted(16), width=16), pictures),
        "resnet": (
            _picture(
                nn.Conv2d(3, 16, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                nn.MaxPool2d(3, 2, 1), _Residual(16), _Residual(16), width=16,
            ),
            pictures,
        ),
        "convnext": (_picture(nn.Conv2d(3, 16, 4, stride=4), _Next(16), _Next(16), width=16), pictures),
        "bert": (_Text(causal=False), tokens),
        "gpt": (_Text(causal=True), tokens),
        "vit": (_Vit(), pictures),
    }  # fmt: skip
    for module, _ in made.values():
        for part in module.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.running_mean.normal_(0, 0.2)
                part.running_var.uniform_(0.3, 1.2)
                nn.init.uniform_(part.weight, 0.6, 1.4)
                nn.init.normal_(part.bias, 0, 0.2)
            elif isinstance(part, nn.LayerNorm):
                nn.init.uniform_(part.weight, 0.6, 1.4)
                nn.init.normal_(part.bias, 0, 0.2)
            elif isinstance(part, (nn.Conv2d, nn.Linear)):
                nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
        module.eval()
    return made
