"""The plugin against the real Python bindings of TensorRT releases that cannot be run here.

A release's bindings are one small wheel. They import once empty libraries stand in for TensorRT's own; then every
class, method and enumeration is the real one, although nothing can be built or run.
"""

from __future__ import annotations

import ast
import ctypes
import json
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import faulty_models
import pytest

from polycmp_trt import features

ROOT = Path(__file__).parents[3]
CACHE = ROOT / ".cache" / "tensorrt-bindings"
SOURCES = sorted(Path(features.__file__).parent.rglob("*.py"))
RELEASES = {
    "8.6.1": "tensorrt-bindings==8.6.1",
    "10.0.1": "tensorrt-cu12-bindings==10.0.1",  # the lowest that the extra cu12 takes
    "10.13.2.6": "tensorrt-cu13-bindings==10.13.2.6",  # the lowest that the extra cu13 takes
    "10.16.1.11": "tensorrt-cu13-bindings==10.16.1.11",
    "11.4.0.106": "tensorrt-cu13-bindings==11.4.0.106",
}
#: The oldest and the newest; those between are tried with the corpora.
TRIED = [
    pytest.param(release, marks=[] if release in {"8.6.1", "11.4.0.106"} else pytest.mark.corpus)
    for release in RELEASES
]
LIBRARIES = ("nvinfer", "nvonnxparser", "nvinfer_plugin", "nvparsers")
SYMBOLS = [
    "createInferBuilder_INTERNAL",
    "createInferRefitter_INTERNAL",
    "createInferRuntime_INTERNAL",
    "createNvOnnxParser_INTERNAL",
    "createNvOnnxParserRefitter_INTERNAL",
    "getNvOnnxParserVersion",
    "initLibNvInferPlugins",
    "getBuilderPluginRegistry",
    "getPluginRegistry",
    "_ZN11nvuffparser15createUffParserEv",
    "_ZN11nvuffparser8FieldMapC1EPKcPKvNS_9FieldTypeEi",
    "_ZN14nvcaffeparser117createCaffeParserEv",
    "_ZN14nvcaffeparser123shutdownProtobufLibraryEv",
]

#: Variables that hold TensorRT's objects -> their class, and the modules where they hold something else.
OBJECTS = {
    "builder": ("Builder", set()),
    "network": ("INetworkDefinition", set()),
    "net": ("INetworkDefinition", set()),
    "config": ("IBuilderConfig", set()),
    "parser": ("OnnxParser", set()),
    "engine": ("ICudaEngine", set()),
    "context": ("IExecutionContext", {"cuda", "tactics"}),
    "inspector": ("EngineInspector", set()),
    "runtime": ("Runtime", set()),
    "refitter": ("Refitter", set()),
    "tensor": ("ITensor", {"typed_onnx", "views"}),
    "layer": ("ILayer", {"layers", "inspection", "commands", "tactics"}),
}
#: Attributes of `ILayer`'s subclasses; a capability names the subclass.
OF_SUBCLASSES = {"ILayer.attention"}


def dotted(node: ast.AST) -> list[str]:
    """The words of `a.b.c`; `import_tensorrt()` counts as `trt`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "import_tensorrt":
        parts.append("trt")
    else:
        return []
    parts = parts[::-1]
    return parts[1:] if parts[0] == "self" else parts


@cache
def names_used() -> dict[str, set[str]]:
    """Every TensorRT name in the plugin's sources -> the modules that use it."""
    used: dict[str, set[str]] = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            parts = dotted(node) if isinstance(node, ast.Attribute) else []
            if len(parts) < 2 or (parts[0] != "trt" and parts[0] not in OBJECTS):
                continue
            if parts[0] == "trt":
                words = parts[1:]
            else:
                owner, elsewhere = OBJECTS[parts[0]]
                if path.stem in elsewhere:
                    continue
                words = [owner, parts[1]]
            words = words[: next((i for i, word in enumerate(words) if word.startswith("__")), len(words))]
            if words and ".".join(words) not in OF_SUBCLASSES:
                used.setdefault(".".join(words), set()).add(path.stem)
    return used


@cache
def names_asked_for() -> set[str]:
    """Names that the plugin asks about before it uses them: strings in calls of `has` and `getattr`."""
    found = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"has", "hasattr"}:
                texts = (arg.value for arg in node.args if isinstance(arg, ast.Constant))
                found |= {text.removesuffix("=") for text in texts if isinstance(text, str)}
    return found


def wheel(requirement: str) -> Path:
    """The wheel of one release's bindings for this interpreter, fetched once."""
    name, version = requirement.replace("-", "_").split("==")
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    found = list(CACHE.glob(f"{name}-{version}-{tag}-*.whl"))
    if not found:
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--retries", "1"]
        done = subprocess.run([*command, "-d", str(CACHE), requirement], capture_output=True, text=True, check=False)
        found = list(CACHE.glob(f"{name}-{version}-{tag}-*.whl"))
        if not found:
            reason = (done.stderr.strip().splitlines() or ["pip gave no wheel"])[-1]
            pytest.skip(f"no bindings {requirement} for this Python: {reason}")
    return found[0]


def importable(release: str) -> Path:
    """A folder from which `import tensorrt` gives the bindings of a release."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip("needs a C compiler on 64-bit Linux to make stand-ins for TensorRT's libraries")
    archive = wheel(RELEASES[release])
    folder = CACHE / archive.stem
    if (folder / "tensorrt" / "__init__.py").is_file():
        return folder
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    with zipfile.ZipFile(archive) as content:
        content.extractall(partial)
    major = release.partition(".")[0]
    for library in LIBRARIES:
        symbols = SYMBOLS if library == "nvinfer" else ()
        code = "\n".join(f"void *{symbol}(void) {{ return 0; }}" for symbol in symbols)
        target = partial / f"lib{library}.so.{major}"
        command = [compiler, "-shared", "-fPIC", "-o", str(target), f"-Wl,-soname,{target.name}", "-x", "c", "-"]
        subprocess.run(command, input=code, text=True, check=True)
    (partial / "tensorrt").mkdir()
    text = "from tensorrt_bindings import *\nfrom tensorrt_bindings import __version__\n"
    (partial / "tensorrt" / "__init__.py").write_text(text)
    if folder.exists():
        shutil.rmtree(partial)
    else:
        partial.rename(folder)
    return folder


@pytest.fixture(scope="module", params=TRIED)
def seen(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What the probe saw in one release."""
    folder = importable(request.param)
    environment = {**os.environ, "PYTHONPATH": str(folder), "LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("bindings_probe.py"))],
        input=json.dumps(sorted(names_used())),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["version"] == request.param
    return result


def test_every_name_exists_or_is_behind_a_capability(seen: dict[str, Any]) -> None:
    guarded = set(names_asked_for())
    for name, supported in seen["features"].items():
        feature = features.FEATURES[name]
        guarded |= set(feature.replaces) if supported else {need.removesuffix("=") for need in feature.needs}
    used = names_used()
    unguarded = {
        name: sorted(used[name])
        for name, exists in seen["names"].items()
        if not exists and not any(name == guard or name.startswith(f"{guard}.") for guard in guarded)
    }
    assert not unguarded, f"TensorRT {seen['version']} lacks these, and nothing asks before using them"


def test_the_collection_sees_what_it_should() -> None:
    used = names_used()
    assert {"BuilderFlag.TF32", "IBuilderConfig.set_flag", "OnnxParser", "ICudaEngine.num_io_tensors"} <= set(used)
    assert len(used) > 100


def test_a_flag_is_missing_exactly_where_its_feature_is(seen: dict[str, Any]) -> None:
    for option, (exists, feature) in seen["flags"].items():
        assert exists == seen["features"][feature], option


def has_flags(seen: dict[str, Any]) -> bool:
    return bool(seen["features"]["fp16"])


def test_fp16_is_a_flag_or_a_conversion(seen: dict[str, Any]) -> None:
    expected = [["fp16"], [], False] if has_flags(seen) else [[], ["fp16"], True]
    assert seen["fp16"]["value"] == expected


def test_bf16_is_a_flag_a_conversion_or_impossible(seen: dict[str, Any]) -> None:
    if seen["version"].startswith("8."):
        assert "no bfloat16" in seen["bf16"]["text"]
        assert seen["bf16"]["exit"] == 3
    else:
        assert seen["bf16"]["value"] == ([["bf16"], [], False] if has_flags(seen) else [[], ["bf16"], True])


def test_int8_is_a_flag_or_quantisation(seen: dict[str, Any]) -> None:
    flags = ["int8", "tf32"] if has_flags(seen) else ["tf32"]
    assert seen["int8"]["value"] == [flags, [] if has_flags(seen) else ["int8"], not has_flags(seen)]


def test_what_cannot_be_replaced_says_what_to_do(seen: dict[str, Any]) -> None:
    if has_flags(seen):
        assert seen["fp8"]["value"][0] == ["fp8"]
        assert seen["int8_script"]["value"][0] == ["int8"]
        assert seen["typed_fp16"]["exit"] == 3
        return
    for name, advice in (("fp8", "Q/DQ"), ("int8_script", "ONNX model"), ("fp16_bf16", "-b trt:fp16 -b trt:bf16")):
        assert seen[name]["exit"] == 3
        assert advice in seen[name]["text"].partition("next:")[2], name


def test_a_retired_member_is_not_taken_for_a_typing_error(seen: dict[str, Any]) -> None:
    if has_flags(seen):
        assert seen["cudnn"]["value"] == "TacticSource.CUDNN"
    else:
        assert seen["cudnn"]["exit"] == 3
        assert "cuDNN" in seen["cudnn"]["text"]
    assert seen["typo"]["exit"] == 2
    assert "did you mean 'workspace'?" in seen["typo"]["text"]


def test_calibrators_of_every_base_class(seen: dict[str, Any]) -> None:
    for base, result in seen["calibrate"].items():
        if seen["features"]["calibrator"]:
            assert result["value"] == [[[4096], [8192], None], None, "scales", "scales"], base
        else:
            assert result["exit"] == 3, base
            assert "data loader" in result["text"].partition("next:")[2]
    assert seen["bad_base"]["exit"] == 3


def test_an_error_in_the_data_loader_is_kept_and_no_cache_is_written(seen: dict[str, Any]) -> None:
    if seen["features"]["calibrator"]:
        assert seen["failing"]["value"] == [[[4096], None, None], None, "no more pictures"]
    else:
        assert seen["failing"]["exit"] == 3


def test_recording_tactics_works_or_names_the_timing_cache(seen: dict[str, Any]) -> None:
    if seen["features"]["algorithm_selector"]:
        assert seen["record"]["value"] == [0, 1, 2]
    else:
        assert "--trt-timing-cache" in seen["record"]["text"]


def test_parts_share_what_was_measured_where_the_release_takes_it(seen: dict[str, Any]) -> None:
    passed_on = [[[], ["conv"], ["conv", "relu"]], [], []]
    assert seen["shared"]["taken"]["value"] == passed_on
    assert seen["shared"]["taken with a no"]["value"] == passed_on  # what 8.6 says on newer devices
    given, whole, notes = seen["shared"]["refused"]["value"]
    assert (given, whole) == ([[], [], []], [])
    assert len(notes) == 2
    assert "timed anew" in notes[0]


def test_timing_caches_are_merged_as_the_release_wants_it(seen: dict[str, Any]) -> None:
    create, get, combine, serialize = seen["timing_cache"]
    assert "(self" in create
    assert "serialized_timing_cache: " in create
    assert create.endswith("ITimingCache")
    assert get.endswith("ITimingCache")
    assert "input_cache: " in combine
    assert combine.endswith("ignore_mismatch: bool) -> bool")
    assert "serialize(self" in serialize


def test_progress_is_noted_where_the_release_tells(seen: dict[str, Any]) -> None:
    if seen["features"]["progress_monitor"]:
        assert seen["monitor"]["value"] == [True, {"Timing": [3, 10]}, {}, True]


def test_loaders_follow_the_release(seen: dict[str, Any]) -> None:
    assert "tf32=True" in seen["loaders"]["tf32"]["value"]
    for name, conversion in (("fp16", "ConvertToFp16"), ("bf16", "ConvertToBf16"), ("int8", "QuantizeToInt8")):
        made = seen["loaders"][name]
        if name == "bf16" and seen["version"].startswith("8."):
            assert made["exit"] == 3
        elif has_flags(seen):
            assert f"{name}=True" in made["value"]
            assert conversion not in made["value"]
        else:
            assert f"BytesFromOnnx({conversion}(OnnxFromPath('model.onnx')" in made["value"]
            assert "strongly_typed=True" in made["value"]
            assert f"{name}=True" not in made["value"]


#: Option -> the feature that decides; without it the answer is an error with advice.
CHECKED = {
    "layer_precisions": "layer_precision",
    "tensor_dtypes": "tensor_dtype",
    "mark_debug": "debug_tensors",
    "save_tactics": "algorithm_selector",
    "quantization_flags": "quantization_flags",
    "precision_constraints": "precision_constraints",
    "dla_workspace_allocation_strategy": "dla_workspace_allocation_strategy",
    "runtime_platform": "runtime_platform",
}


def test_options_are_checked_before_anything_is_built(seen: dict[str, Any]) -> None:
    for option, feature in CHECKED.items():
        result = seen["checks"][option]
        if seen["features"][feature]:
            assert result == {"value": None}, option
        else:
            assert result["exit"] == 3, option
            assert f"--trt-{option.replace('_', '-')}" in result["text"]
            assert "next:" in result["text"]
    assert seen["checks"]["pool_limit"] == {"value": None}
    assert seen["checks"]["preview_features"]["exit"] == 2
    assert seen["checks"]["tactic_sources"].get("exit", 0) == (0 if has_flags(seen) else 3)


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.mark.skipif(_has_driver(), reason="there is an NVIDIA driver")
@pytest.mark.skipif(find_spec("cuda") is None, reason="cuda-bindings is not installed")
@pytest.mark.parametrize("release", TRIED)
def test_without_a_driver_a_run_says_that_one_is_missing(release: str, tmp_path: Path) -> None:
    folder = str(importable(release))
    model = faulty_models.chain(tmp_path / "m.onnx", length=2)
    done = subprocess.run(
        [sys.executable, "-m", "polycmp", "run", str(model), "-b", "trt", "-b", "onnx"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": folder, "LD_LIBRARY_PATH": folder},
        capture_output=True,
        text=True,
        check=False,
    )
    shown = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 3, shown
    assert "CUDA cannot start: no usable device, or a driver older than this CUDA needs" in shown
    assert "next: nvidia-smi" in shown
    assert "Traceback" not in shown
