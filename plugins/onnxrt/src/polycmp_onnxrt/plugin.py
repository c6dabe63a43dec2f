"""Contributions of this plugin, described without importing anything heavy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polycmp.spec import RunnerSpec, RunnerTools, Switch, check_at_least_one, hookimpl, opt
from polycmp_onnxrt.choices import (
    COARSENESS,
    HARMLESS_ENTRIES,
    RULE_SETS,
    RULES,
    TRANSFORMERS,
    names_more,
    narrowed_types,
    parse_optimization,
    parse_provider,
)

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle


def _checked_provider(text: str) -> str:
    parse_provider(text)
    return text


@dataclass(frozen=True)
class Options:
    """Options of the backend `onnxrt`."""

    providers: tuple[str, ...] = opt(
        ("cpu",),
        help="Execution providers in order of preference: a name or an unambiguous part of one, "
        "with its options in brackets, for example cuda[device_id=1;use_tf32=0].",
        alias=("--providers", "--execution-providers"),
        metavar="NAME[KEY=VALUE;...]",
        parse=_checked_provider,
        executes=names_more,
    )
    optimization: str = opt(
        "all",
        help="Graph optimization: off, basic, extended, layout or all; ONNX Runtime's own names work too.",
        alias="--graph-optimization-level",
        metavar="LEVEL",
        parse=parse_optimization,
    )
    disable_optimizers: tuple[str, ...] = opt(
        (), help="Optimizers to disable, by ONNX Runtime's names, for example ConstantFolding.", metavar="NAME"
    )
    threads: int | None = opt(
        None, help="Threads within one operator; by default all cores that this process may use.", metavar="N"
    )
    inter_threads: int = opt(
        1, help="Operators that may run at the same time; more than 1 turns on parallel execution.", metavar="N"
    )
    op_libs: tuple[str, ...] = opt(
        (),
        help="Shared libraries with custom operators.",
        alias=("--op-libs", "--custom-op-libs"),
        metavar="FILE",
        executes=True,
    )
    deterministic: bool = opt(False, help="Prefer kernels that give the same result in every run.")
    config: Mapping[str, str] = opt(
        {},
        help="Session configuration entries, for example session.disable_prepacking:1.",
        metavar="KEY:VALUE",
        executes=lambda text: text.partition(":")[0] not in HARMLESS_ENTRIES,
    )
    save_optimized: str | None = opt(
        None, help="Write the model as optimized by ONNX Runtime.", metavar="FILE", writes=True
    )
    profile: str | None = opt(
        None, help="Write ONNX Runtime's own profile of all runs as JSON.", metavar="FILE", writes=True
    )

    def __post_init__(self) -> None:
        for text in self.providers:
            parse_provider(text)
        if not self.providers:
            raise ValueError("at least one execution provider is needed, for example cpu")
        object.__setattr__(self, "optimization", parse_optimization(self.optimization))
        check_at_least_one(self, "threads", "inter_threads")
        if "" in self.config:
            raise ValueError(f"a configuration entry is KEY:VALUE; {self.config['']!r} has no key")


@hookimpl
def polycmp_runners() -> Iterator[RunnerSpec]:
    """Describe the backend `onnxrt`."""
    yield RunnerSpec(
        name="onnxrt",
        summary="ONNX Runtime",
        factory="polycmp_onnxrt.runner:make_runner",
        options=Options,
        accepts=("onnx",),
        needs=("onnxruntime",),
        tools="polycmp_onnxrt.plugin:OnnxrtTools",
    )


class OnnxrtTools(RunnerTools):
    """A quick runtime whose optimisers can be switched off, and which shows what they made of a model."""

    threads = "threads"
    trial_cost = 1
    aliases = ("ort", "onnxruntime")
    concurrent = True
    exclusive = ("providers", "threads", "inter_threads", "op_libs", "profile")
    switches = (
        Switch("disable_optimizers", (*TRANSFORMERS, *RULES), values_from="polycmp_onnxrt.optimizers:optimizers"),
        # A release may have rules that are not known here.
        Switch("disable_optimizers", RULE_SETS),
        Switch("optimization", values=("layout", "extended", "basic", "off")),
    )
    rewritten = "save_optimized"

    def precision(self, model: ModelHandle, options: Any) -> str:
        """Return the coarsest type in which the execution providers may calculate; empty where they take no other."""
        allowed = (name for text in options.providers for name in narrowed_types(text))
        return max(allowed, key=COARSENESS.index, default="")


def loader_arguments(options: Options) -> dict[str, Any]:
    """Return the options as keyword arguments of `SessionFromOnnx`, those at their default left out."""
    default = Options()
    fields = (field for field in Options.__dataclass_fields__ if getattr(options, field) != getattr(default, field))
    return {field: getattr(options, field) for field in fields}
