"""Runs inside a process that sees the real Python bindings of one TensorRT release, and nothing of its libraries.

Reads names as JSON from stdin; writes as JSON which of them exist, what the capability queries say, and how the parts
of the plugin that need no builder behave.
"""

import io
import json
import sys

import tensorrt as trt

from polycmp.errors import PolycmpError, UsageError
from polycmp_onnx import OnnxFromPath
from polycmp_trt import Calibrator, TacticRecorder, TacticReplayData, features
from polycmp_trt.build.config import _ENUMS, _FLAGS
from polycmp_trt.build.precision import plan_precision
from polycmp_trt.build.progress import progress_monitor
from polycmp_trt.build.timing_cache import SharedTimings
from polycmp_trt.checks import check_names
from polycmp_trt.factory import engine_from_source
from polycmp_trt.options import Options


def exists(name):
    return features.has(name, trt)


def answer(call):
    """Return what a call gives, or the error's class and text."""
    try:
        return {"value": call()}
    except PolycmpError as error:
        return {"error": type(error).__name__, "text": str(error), "exit": error.exit_code}


def plan(*wanted, strongly_typed=False, from_onnx=True):
    made = plan_precision(wanted, strongly_typed, from_onnx)
    return [made.flags, made.conversions, made.strongly_typed]


def calibrate(base):
    cache = io.BytesIO()
    calibrator = Calibrator([{"x": 4096}, {"x": 8192}], cache=cache, BaseClass=base)
    batches = [calibrator.get_batch(["x"]) for _ in range(3)]
    before = calibrator.read_calibration_cache()
    calibrator.write_calibration_cache(b"scales")
    return [batches, before, calibrator.read_calibration_cache().decode(), cache.getvalue().decode()]


def failing_calibration():
    def feeds():
        yield {"x": 4096}
        raise UsageError("no more pictures")

    calibrator = Calibrator(feeds)
    batches = [calibrator.get_batch(["x"]) for _ in range(3)]
    calibrator.write_calibration_cache(b"half")
    after = calibrator.read_calibration_cache()
    try:
        calibrator.raise_error()
    except UsageError as error:
        return [batches, after, error.what]
    return "no error"


def record():
    return TacticRecorder(TacticReplayData()).select_algorithms(None, [1, 2, 3])


def monitor():
    phases = {}
    made = progress_monitor(phases)
    made.phase_start("Timing", None, 10)
    goes_on = made.step_complete("Timing", 2)
    seen = dict(phases)
    made.phase_finish("Timing")
    return [goes_on, seen, phases, isinstance(made, trt.IProgressMonitor)]


class Timings:
    """A timing cache of names, with the methods of the real one, which only a builder makes."""

    def __init__(self, takes, says):
        self.known, self.takes, self.says = set(), takes, says

    def combine(self, input_cache, ignore_mismatch):
        if self.takes:
            self.known |= input_cache.known
        return self.says

    def serialize(self):
        return bytearray(" ".join(["timings", *sorted(self.known)]), "ascii")


class Config:
    """What of a builder configuration has to do with timings."""

    def __init__(self, takes, says):
        self.rule, self.cache = (takes, says), Timings(takes, says)

    def get_timing_cache(self):
        return self.cache

    def create_timing_cache(self, serialized_timing_cache):
        assert serialized_timing_cache == b""
        return Timings(*self.rule)


def share(device, takes, says):
    """Return what each of three builds is given, and the notes: the whole model and two parts."""
    given, notes = [], []
    for layer, is_part in (("conv", False), ("relu", True), ("add", True)):
        config, timings = Config(takes, says), SharedTimings(device, reads=is_part)
        timings.lend(config)
        given.append(sorted(config.cache.known))
        config.cache.known.add(layer)
        timings.collect(config)
        notes += timings.notes
    again = Config(takes, says)
    SharedTimings(device, reads=False).lend(again)
    return [given, sorted(again.cache.known), notes]


def signatures():
    found = (trt.IBuilderConfig.create_timing_cache, trt.IBuilderConfig.get_timing_cache, trt.ITimingCache.combine)
    return [call.__doc__.strip().partition("\n")[0] for call in (*found, trt.ITimingCache.serialize)]


def loaders(**options):
    source = OnnxFromPath("model.onnx")
    return repr(engine_from_source(source, Options(**options), {"x": (2, 3)}))


def checked(**options):
    return check_names(Options(**options))


def main():
    names = json.load(sys.stdin)
    enums = {enum: features.enum_names(enum) for enum in [*_ENUMS.values(), "TacticSource", "MemoryPoolType"]}
    json.dump(
        {
            "version": trt.__version__,
            "names": {name: exists(name) for name in names},
            "features": {feature: features.supports(feature) for feature in features.FEATURES},
            "flags": {name: [features.has_builder_flag(flag), feature] for name, (flag, feature) in _FLAGS.items()},
            "enums": enums,
            "fp16": answer(lambda: plan("fp16")),
            "bf16": answer(lambda: plan("bf16")),
            "int8": answer(lambda: plan("int8", "tf32")),
            "fp8": answer(lambda: plan("fp8")),
            "int8_script": answer(lambda: plan("int8", from_onnx=False)),
            "fp16_bf16": answer(lambda: plan("fp16", "bf16")),
            "typed_fp16": answer(lambda: plan("fp16", strongly_typed=True)),
            "cudnn": answer(lambda: str(features.enum_value("TacticSource", "cudnn", "--tactic-sources"))),
            "typo": answer(lambda: str(features.enum_value("MemoryPoolType", "workspce", "--pool-limit"))),
            "calibrate": {
                base: answer(lambda base=base: calibrate(base))
                for base in (
                    "IInt8EntropyCalibrator2",
                    "IInt8MinMaxCalibrator",
                    "IInt8LegacyCalibrator",
                    "IInt8Calibrator",
                )
            },
            "bad_base": answer(lambda: calibrate("IInt8Nothing")),
            "failing": answer(failing_calibration),
            "record": answer(record),
            "shared": {
                "taken": answer(lambda: share(0, takes=True, says=True)),
                "taken with a no": answer(lambda: share(1, takes=True, says=False)),
                "refused": answer(lambda: share(2, takes=False, says=False)),
            },
            "timing_cache": signatures(),
            "monitor": answer(monitor) if features.supports("progress_monitor") else None,
            "loaders": {
                name: answer(lambda name=name: loaders(**{name: True})) for name in ("tf32", "fp16", "bf16", "int8")
            },
            "checks": {
                name: answer(lambda name=name, value=value: checked(**{name: value}))
                for name, value in {
                    "tactic_sources": ("cudnn",),
                    "preview_features": ("nonsense",),
                    "pool_limit": {"WorkSpace": 1},
                    "layer_precisions": {"conv": "float16"},
                    "tensor_dtypes": {"x": "float16"},
                    "mark_debug": ("x",),
                    "save_tactics": "replay.json",
                    "quantization_flags": ("calibrate_before_fusion",),
                    "precision_constraints": "obey",
                    "dla_workspace_allocation_strategy": "shared_static",
                    "runtime_platform": "same_as_build",
                }.items()
            },
        },
        sys.stdout,
    )


main()
