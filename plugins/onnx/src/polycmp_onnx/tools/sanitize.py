"""The steps of `surgeon sanitize`, in the order in which they are done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polycmp_onnx.fold import FoldConstants
from polycmp_onnx.outputs import ModifyOutputs
from polycmp_onnx.shapes import note_shapes
from polycmp_onnx.tidy import clean_up, override_input_shapes, sort_nodes
from polycmp_onnx.upper_bound import bound

if TYPE_CHECKING:
    from polycmp_onnx.tools.surgeon_sections import FoldSection, SanitizeSection


def sanitize(
    proto: Any,
    section: SanitizeSection,
    fold: FoldSection,
    shapes: Mapping[str, Sequence[int | str]],
    run_for_shapes: Callable[[], None],
) -> str:
    """Change a model as the options say, and say in a few words what was done.

    Args:
        proto: An `onnx.ModelProto`, which is changed.
        section: The changes to make.
        fold: Options for folding constants.
        shapes: Other shapes of the inputs.
        run_for_shapes: Notes the types and shapes that a run of the model shows.

    Raises:
        UsageError: A name is unknown.
        ModelError: The nodes cannot be sorted.
    """
    if section.outputs or section.exclude_outputs or section.outputs_by_type:
        ModifyOutputs(proto, section.outputs or None, section.exclude_outputs or None, section.outputs_by_type).apply(
            proto
        )
    if section.set_unbounded_dds_upper_bound:
        bound(proto, section.set_unbounded_dds_upper_bound)
    if shapes:
        override_input_shapes(proto, shapes)
    if section.force_fallback_shape_inference:
        run_for_shapes()
    if section.cleanup:
        clean_up(proto)
    if section.toposort:
        sort_nodes(proto)
    inferring = not (section.no_shape_inference or section.force_fallback_shape_inference)
    done = []
    if fold.fold_constants:
        count = len(proto.graph.node)
        per_pass = inferring and not fold.no_per_pass_shape_inference
        if inferring and not per_pass:
            note_shapes(proto, allow_onnxruntime=not section.no_onnxruntime_shape_inference)
        FoldConstants(
            proto,
            num_passes=fold.num_passes,
            do_shape_inference=per_pass,
            fold_shapes=not fold.no_fold_shapes,
            size_threshold=fold.fold_size_threshold,
        ).apply(proto)
        clean_up(proto)  # what only folded nodes read
        done.append(f"folded {count - len(proto.graph.node)} nodes")
    if inferring:
        note_shapes(proto, allow_onnxruntime=not section.no_onnxruntime_shape_inference)
    return ", ".join(done) or "sanitized"
