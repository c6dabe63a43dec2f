"""The faults, with the stage that is to be named first in their names: written down before polycmp was asked.

Those of functions are in `ocr_faults` and `vad_faults`, those of models are what is done to their files here.
"""

from __future__ import annotations

import numpy as np
from onnx import helper, numpy_helper


def weights_of(model):
    """Return the large weights of a model, those in constants too."""
    held = [item.t for node in model.graph.node if node.op_type == "Constant" for item in node.attribute]
    return [item for item in [*model.graph.initializer, *held] if len(item.dims) >= 2 and np.prod(item.dims) > 1000]


def damaged(share):
    """Return what makes the first channel of a weight in the middle of the model larger."""

    def change(model):
        large = weights_of(model)
        chosen = large[len(large) // 2]
        values = numpy_helper.to_array(chosen).copy()
        values[0] *= 1 + share
        chosen.CopyFrom(numpy_helper.from_array(values, chosen.name))
        return model

    return change


def without_last(model):
    """Leave out the last operator: what it reads takes its place, under its name."""
    last = next(node for node in model.graph.node if node.output[0] == model.graph.output[0].name)
    inner = last.input[0]
    model.graph.node.remove(last)
    model.graph.node.append(helper.make_node("Identity", [inner], [last.output[0]]))
    return model


def softmax_over(axis):
    """Return what lets the last softmax run over another axis."""

    def change(model):
        last = next(node for node in model.graph.node if node.output[0] == model.graph.output[0].name)
        del last.attribute[:]
        last.attribute.append(helper.make_attribute("axis", axis))
        return model

    return change


def rounded_weights(bits):
    """Return what rounds all large weights to few bits, with one scale for each."""

    def change(model):
        for item in weights_of(model):
            values = numpy_helper.to_array(item)
            scale = np.abs(values).max() / (2 ** (bits - 1) - 1)
            item.CopyFrom(numpy_helper.from_array((np.round(values / scale) * scale).astype(np.float32), item.name))
        return model

    return change


def saturating(limit):
    """Return what clips the first input to a range that is too small, as a calibration on dark pictures does."""

    def change(model):
        name = model.graph.input[0].name
        for node in model.graph.node:
            for place, read in enumerate(node.input):
                if read == name:
                    node.input[place] = "clipped"
        low, high = (numpy_helper.from_array(np.float32(value), f"limit{value}") for value in (-limit, limit))
        model.graph.initializer.extend([low, high])
        model.graph.node.insert(0, helper.make_node("Clip", [name, low.name, high.name], ["clipped"]))
        return model

    return change


FUNCTIONS = {
    "ocr": """
        read_blue_last read_grey read_seven_bits read_upside_down
        prepare_other_mean_and_deviation prepare_without_mean prepare_divided_by_256 prepare_transposed
        prepare_nearest_pixel prepare_smaller
        boxes_other_threshold boxes_tighter boxes_one_pixel_right boxes_from_bottom_to_top boxes_last_one_lost
        boxes_height_for_width
        crop_one_column_less crop_one_pixel_off crop_half_a_pixel_off crop_turned_by_half
        scale_blue_last scale_without_mean scale_one_pixel_narrower scale_white_behind
        decode_repeats_kept decode_one_character_on""",
    "vad": """
        waves_divided_by_32767 waves_wrapped_around waves_eight_bits
        chunks_off_by_one chunks_without_context chunks_last_one_lost
        start_other_state speech_one_less_it smooth_one_frame_late smooth_sum_for_mean
        segments_other_threshold segments_rounded_down segments_one_frame_long""",
}
MODELS = {
    "ocr": {
        "detect_damaged": damaged(0.5),
        "detect_without_sigmoid": without_last,
        "detect_four_bits": rounded_weights(4),
        "detect_clipped_inputs": saturating(0.3),
        "recognise_damaged": damaged(0.5),
        "recognise_without_softmax": without_last,
        "recognise_softmax_over_another_axis": softmax_over(1),
        "recognise_four_bits": rounded_weights(4),
        "recognise_clipped_inputs": saturating(0.3),
    },
    "vad": {
        "listen_damaged": damaged(0.5),
        "listen_four_bits": rounded_weights(4),
        "listen_clipped_inputs": saturating(0.05),
    },
}
#: Pipeline and fault.
FAULTS = [
    *((pipeline, name) for pipeline, names in FUNCTIONS.items() for name in names.split()),
    *((pipeline, name) for pipeline, changes in MODELS.items() for name in changes),
]
