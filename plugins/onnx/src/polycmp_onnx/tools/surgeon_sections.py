"""Options of the commands of `polycmp surgeon`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polycmp.spec import opt, parse_size


@dataclass(frozen=True)
class ShapeSection:
    """Shapes."""

    shape_inference: bool = opt(False, help="Infer the shapes inside the model.", alias="--do-shape-inference")
    force_fallback_shape_inference: bool = opt(
        False, help="Find all types and shapes by running the model once; they become fixed."
    )
    no_onnxruntime_shape_inference: bool = opt(False, help="Infer shapes with ONNX only, without ONNX Runtime.")


@dataclass(frozen=True)
class ExtractSection:
    """Extracting."""

    inputs: tuple[str, ...] = opt(
        (),
        help="Tensors where the part begins, each with a shape and type, or `auto` for either; none for a part "
        "without inputs. By default the model's inputs.",
        metavar="NAME[:SHAPE[:DTYPE]]",
        bare="",
    )
    outputs: tuple[str, ...] = opt(
        (), help="Tensors where the part ends. By default the model's outputs.", metavar="NAME[:DTYPE]"
    )
    model_input_shapes: tuple[str, ...] = opt(
        (),
        help="Shapes of the model's inputs, if it has to be run to find types and shapes.",
        alias="--model-inputs",
        metavar="NAME:[D0,D1,…]",
    )


@dataclass(frozen=True)
class SanitizeSection:
    """Sanitizing."""

    override_input_shapes: tuple[str, ...] = opt(
        (),
        help="Change the shapes of inputs; a dimension may be a number, a name, or -1.",
        alias="--override-inputs",
        metavar="NAME:[D0,D1,…]",
    )
    cleanup: bool = opt(False, help="Remove nodes and weights that no output depends on.")
    toposort: bool = opt(False, help="Sort the nodes so that each comes after those it reads from.")
    outputs: tuple[str, ...] = opt(
        (), help="Tensors to make the outputs, instead of the model's own: names, patterns, or *.", metavar="NAME"
    )
    exclude_outputs: tuple[str, ...] = opt((), help="Names and patterns of outputs to leave out.", metavar="NAME")
    outputs_by_type: tuple[str, ...] = opt(
        (), help="Turn what operators of these types compute into model outputs.", metavar="OP_TYPE"
    )
    set_unbounded_dds_upper_bound: Mapping[str, int] = opt(
        {},
        help="Put an upper bound on all tensors whose values determine the size of others, or on the named ones.",
        metavar="[TENSOR:]N",
    )
    no_shape_inference: bool = opt(False, help="Do not infer shapes.")
    force_fallback_shape_inference: bool = opt(
        False, help="Find all types and shapes by running the model once; they become fixed."
    )
    no_onnxruntime_shape_inference: bool = opt(False, help="Infer shapes with ONNX only, without ONNX Runtime.")


@dataclass(frozen=True)
class FoldSection:
    """Folding constants."""

    fold_constants: bool = opt(False, help="Replace tensors that do not depend on the inputs with their values.")
    num_passes: int | None = opt(
        None,
        help="Maximum number of passes over the model; by default until nothing changes.",
        alias="--num-const-fold-passes",
        metavar="N",
    )
    partitioning: str = opt(
        "",
        help="Accepted for commands written for Polygraphy: each node is folded by itself, so that one that cannot be "
        "run keeps no other from being folded.",
        choices=("", "basic", "recursive"),
        hidden=True,
    )
    no_fold_shapes: bool = opt(False, help="Do not fold Shape nodes of tensors with fixed shapes.")
    no_per_pass_shape_inference: bool = opt(False, help="Infer shapes only before and after folding.")
    fold_size_threshold: int | None = opt(
        None,
        help="Do not create constants larger than this; K, M and G are allowed.",
        metavar="BYTES",
        parse=parse_size,
    )


@dataclass(frozen=True)
class InsertSection:
    """Inserting."""

    inputs: tuple[str, ...] = opt((), help="Tensors that the node reads, in order.", metavar="NAME")
    outputs: tuple[str, ...] = opt((), help="Tensors that the node computes.", metavar="NAME")
    op: str = opt("", help="Operator type of the node.", metavar="OP_TYPE")
    domain: str = opt("", help="Domain of the operator; by default ONNX's own.", metavar="DOMAIN")
    name: str = opt("", help="Name of the node.", metavar="NAME")
    attrs: tuple[str, ...] = opt((), help="Attributes: numbers, text, or lists of these.", metavar="NAME=VALUE")


@dataclass(frozen=True)
class StripSection:
    """Stripping weights."""

    exclude_list: str = opt("", help="Text file with the names of weights to keep, one per line.", metavar="FILE")


@dataclass(frozen=True)
class ReconstructSection:
    """Random weights."""

    seed: int = opt(1, help="Seed of the random numbers.", metavar="N")
