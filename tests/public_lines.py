"""Command lines from public repositories and threads that use Polygraphy: each is run with both tools.

They were found in READMEs, scripts and answers of others, in November 2026; files, tensors and shapes are those of
small models of ours. A line holds the exit statuses of Polygraphy 0.53.6 and of polycmp, and the command, where TOOL
stands for the program's name; after `<-` stands where it was found, if that was noted: repository and path, or issue.
Lines of one group follow each other in one folder.
`python public_lines.py` puts the table into `docs/coming-from-polygraphy.md`.
"""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "coming-from-polygraphy.md"
MARKS = "<!-- public lines: made by tests/public_lines.py -->", "<!-- end of public lines -->"

#: Beginnings of sources, by the letter that stands for them below.
PLACES = {
    "E/": "NVIDIA/TensorRT tools/Polygraphy/examples/cli/",
    "C/": "NVIDIA/trt-samples-for-hackathon-cn cookbook/07-Tool/Polygraphy/",
    "G/": "yyq19990828/onnxtools docs/polygraphy使用指南/",
    "T#": "NVIDIA/TensorRT#",
}

LOADER = """
import numpy as np


def load_data():
    for value in range(2):
        yield {name: np.full((1, 3, 8, 8), value, np.float32) for name in ("x0", "x1")}
"""

#: Lines that need no GPU.
LINES = {
    "cleaning": [
        "0 0 TOOL surgeon sanitize --fold-constants constants.onnx -o folded.onnx <- T#3602",
        "0 0 TOOL surgeon sanitize ./constants.onnx --fold-constants -o ./out/folded.onnx",
        "0 0 TOOL surgeon sanitize --fold-constants copy.onnx -o copy.onnx",
        "0 0 TOOL surgeon sanitize ./constants.onnx --fold-constants --output model-folded.onnx --save-external-data"
        " <- ELS-RD/transformer-deploy#121",
        "0 0 TOOL surgeon sanitize affine.onnx -o static.onnx --fold-constants"
        " --override-input-shapes x0:[1,3,8,8] x1:[1,3,8,8] <- E/debug/02_reducing_failing_onnx_models",
        "1 2 TOOL surgeon sanitize constants.onnx --fold-constants --remove-unused-initializers --output clean.onnx",
        "0 0 TOOL surgeon sanitize dynamic_identity.onnx --fold-constants --override-input-shapes 'X:[1,2,77,77]'"
        " -o sanitize.onnx",
        "0 0 TOOL surgeon extract sanitize.onnx --inputs X:[1,2,77,77]:float32 --outputs Y:float32 -o part.onnx",
        "0 0 TOOL surgeon sanitize affine.onnx --fold-constant --toposort --cleanup -o sorted.onnx"
        " <- C/Surgeon/main.sh",
    ],
    "cutting": [
        "0 0 TOOL surgeon extract affine.onnx --outputs mul_out:auto add_out:auto -o backend.onnx",
        "0 0 TOOL surgeon extract affine.onnx --inputs mul_out:[batch_size,3,8,8]:auto x0:auto:auto -o head.onnx",
        "0 0 TOOL surgeon extract affine.onnx --inputs x1:[1,3,8,8]:float32 --outputs add_out:float32 -o first.onnx"
        " <- E/surgeon/01_isolating_subgraphs",
        "1 2 TOOL surgeon extract affine.onnx --inputs x1:auto:auto --outputs /layers.0/add_out:auto -o layer.onnx",
        "1 0 TOOL surgeon extract affine.onnx --inputs x1 --outputs add_out -o sub.onnx",
        "1 0 TOOL surgeon extract affine.onnx --inputs x0:auto:auto x1:auto:auto --outputs Y:auto:auto -o all.onnx",
        "1 2 TOOL surgeon extract affine.onnx --start mul --end add -o between.onnx",
        "2 0 TOOL inspect model backend.onnx --mode=basic <- G/faq.md",
    ],
    "looking": [
        "0 0 TOOL inspect model affine.onnx <- G/faq.md",
        "0 0 TOOL inspect model affine.onnx --show layers <- E/inspect/03_inspecting_an_onnx_model",
        "0 0 TOOL inspect model affine.onnx --show layers attrs weights <- E/inspect/03_inspecting_an_onnx_model",
        "0 0 TOOL inspect model affine.onnx --model-type=onnx --shape-inference --show layers attrs weights"
        " --list-unbounded-dds --verbose <- C/Inspect/main.sh",
        "0 0 TOOL inspect model affine.onnx --mode=onnx",
        "0 0 TOOL check lint affine.onnx <- G/check.md",
        "0 0 TOOL check lint affine.onnx --verbose <- G/check.md",
        "0 0 TOOL check lint affine.onnx -o report.json <- G/check.md",
        "1 1 TOOL check lint bad_graph.onnx -o report.json <- E/check/01_linting_an_onnx_model",
    ],
    "running": [
        "0 0 TOOL run affine.onnx --onnxrt <- C/Run/main.sh",
        "0 0 TOOL run affine.onnx --onnxrt --atol 1e-3 --rtol 1e-3",
        "0 0 TOOL run identity.onnx --onnxrt --save-inputs inputs.json <- E/inspect/06_inspecting_input_data",
        "0 0 TOOL inspect data inputs.json --show-values <- E/inspect/06_inspecting_input_data",
        "0 0 TOOL run identity.onnx --onnxrt --save-inputs inputs.pkl",
        "0 0 TOOL inspect data inputs.pkl --show-values",
        "0 0 TOOL run affine.onnx --onnxrt --onnx-outputs mark all --save-results=onnx_out.pkl",
        "0 0 TOOL run affine.onnx --onnxrt --onnx-outputs mark all --save-results=out.json <- T#2055",
        "0 0 TOOL run affine.onnx --model-type onnx --onnx-outputs mark all --onnxrt --save-inputs in.json"
        " --save-results golden.json",
        "0 0 TOOL run affine.onnx --onnxrt --load-inputs in.json --load-outputs golden.json --onnx-outputs mark all",
        "1 1 TOOL run other.onnx --onnxrt --onnx-outputs mark all --load-inputs in.json --load-outputs golden.json",
        "0 0 TOOL run dynamic_identity.onnx --onnxrt --input-shapes X:[1,2,28,28] --save-outputs run.json --seed 31193",
        "0 0 TOOL run affine.onnx --onnxrt --providers cpu --data-loader-script affine_loader.py --validate",
        "1 1 TOOL run add_infinity.onnx --onnx-outputs mark all --onnxrt --validate <- E/run/07_checking_nan_inf",
        "1 2 TOOL run affine.onnx --onnxrt --onnx-data=affine.onnx",
        "1 2 TOOL run affine.onnx --onnxrt --tol 1e-3",
    ],
    "reducing": [
        "0 0 TOOL run affine.onnx --onnxrt --save-inputs inputs.json --onnx-outputs mark all"
        " --save-outputs golden.json <- E/debug/02_reducing_failing_onnx_models",
        "2 0 TOOL data to-input inputs.json golden.json -o layerwise.json <- C/Debug/main.sh",
        "0 0 TOOL debug reduce affine.onnx -o small.onnx --mode=bisect --load-inputs layerwise.json --check"
        " TOOL run polygraphy_debug.onnx --onnxrt --load-inputs layerwise.json --load-outputs golden.json"
        " <- E/debug/02_reducing_failing_onnx_models",
        "0 0 TOOL debug reduce affine.onnx -o small.onnx --fail-regex Op:.Mul --check"
        " TOOL inspect model polygraphy_debug.onnx --show layers <- C/Debug/main.sh",
        "1 2 TOOL debug reduce affine.onnx --check 'TOOL run affine.onnx --onnxrt' -o minimal.onnx",
        "0 0 TOOL debug repeat --until=5 --ignore-fail-code=1 --check false"
        " <- NVIDIA/TensorRT tools/Polygraphy/tests/tools/test_debug.py",
        "0 0 TOOL debug repeat --until=5 --check false <- NVIDIA/TensorRT tools/Polygraphy/tests/tools/test_debug.py",
    ],
    "converting": [
        "0 0 TOOL convert --fp-to-fp16 -o identity-fp16.onnx identity.onnx <- E/convert/04_converting_models_to_fp16",
        "0 0 TOOL template trt-network -o define_network.py <- E/run/04_defining_a_tensorrt_network_or_config_manually",
        "0 0 TOOL template trt-network identity.onnx --output modify_network.py <- C/Template/main.sh",
        "0 0 TOOL template trt-config --fp16 -o config.py",
        "0 0 TOOL template onnx-gs identity.onnx -o modify_onnx.py <- C/Template/main.sh",
    ],
    "a cookbook": [
        "0 0 TOOL surgeon sanitize dynamic_identity.onnx --cleanup --fold-constant --toposort"
        " --override-input-shapes X:[7,2,3,4] -o static_batch.onnx <- C/Surgeon/main.sh",
        "0 0 TOOL surgeon extract affine.onnx --inputs x1:[nBS,3,8,8]:float32 --outputs add_out:auto -o part.onnx"
        " <- C/Surgeon/main.sh",
        "0 0 TOOL surgeon insert affine.onnx --name MyNewNode --op NewNode --inputs mul_out --outputs mul_out"
        " --attrs arg_int=31193 arg_float=3.14 arg_str=wili arg_list=[0,1,2] -o inserted.onnx <- C/Surgeon/main.sh",
        "0 0 TOOL surgeon prune affine.onnx -o pruned.onnx <- C/Surgeon/main.sh",
        "0 0 TOOL surgeon weight-strip affine.onnx -o stripped.onnx <- C/Surgeon/main.sh",
        "0 0 TOOL surgeon weight-reconstruct stripped.onnx -o proxies.onnx <- C/Surgeon/main.sh",
        "0 0 TOOL inspect model stripped.onnx --show weights <- C/Surgeon/main.sh",
        "0 0 TOOL inspect model proxies.onnx --show weights <- C/Surgeon/main.sh",
        "0 0 TOOL run affine.onnx --onnxrt --validate --fail-fast --verbose <- C/Run/main.sh",
        "1 1 TOOL run add_infinity.onnx --onnxrt --validate --fail-fast --verbose <- C/Run/main.sh",
        "0 0 TOOL run affine.onnx --onnxrt --onnx-outputs mul_out add_out --atol 1e-3 --rtol 1e-3 --verbose"
        " <- C/Run/main.sh",
        "0 0 TOOL run affine.onnx --onnxrt --save-inputs inputs.raw --save-outputs outputs.raw <- C/Data/main.sh",
        "2 0 TOOL data to-input inputs.raw outputs.raw --output io.raw <- C/Data/main.sh",
        "0 0 TOOL template trt-config affine.onnx --output modify_config.py <- C/Template/main.sh",
        "0 2 TOOL debug reduce affine.onnx --output reduced.onnx --model-input-shapes x0:[1,3,8,8] x1:[1,3,8,8]"
        " --check TOOL run --trt <- C/Debug/main.sh",
    ],
    "a guide": [
        "0 0 TOOL check lint dynamic_identity.onnx --input-shapes X:[1,2,8,8] <- G/check.md",
        "0 0 TOOL check lint affine.onnx --input-shapes x0:[1,3,8,8] x1:[1,3,8,8] <- G/check.md",
        "0 0 TOOL check lint affine.onnx --external-data-dir ./external_weights/ <- G/check.md",
        "0 0 TOOL check lint affine.onnx --ignore-external-data <- G/check.md",
        "0 0 TOOL check lint affine.onnx --load-inputs saved.json <- G/check.md",
        "0 0 TOOL check lint affine.onnx --data-loader-script affine_loader.py <- G/check.md",
        "0 0 TOOL check lint affine.onnx --seed 42 --iterations 5 <- G/check.md",
        "0 0 TOOL check lint identity.onnx --fp-to-fp16 <- G/check.md",
        "0 0 TOOL run affine.onnx --onnxrt --save-inputs inputs.json <- G/faq.md",
        "1 2 TOOL inspect data inputs.json --show-values --statistics <- G/faq.md",
        "2 2 TOOL inspect model affine.onnx --show-weights --mode=full <- G/faq.md",
        "2 2 TOOL surgeon extract affine.onnx --inputs x1 --outputs add_out <- G/faq.md",
        "1 0 TOOL run affine.onnx --onnxrt --mark-all --save-outputs layer_outputs.json <- G/faq.md",
        "2 2 TOOL inspect diff expected.json actual.json --rtol=1e-3 <- G/faq.md",
        "0 0 TOOL surgeon insert affine.onnx --inputs mul_out --outputs add_out --op Relu --name debug_relu"
        " -o modified.onnx <- G/surgeon.md",
        "1 2 TOOL surgeon insert affine.onnx --inputs mul_out --outputs relu_output --op Relu --name debug_relu"
        " -o refused.onnx <- G/surgeon.md",
        "0 0 TOOL surgeon weight-strip affine.onnx --exclude-list exclude_weights.txt -o selective_stripped.onnx"
        " <- G/surgeon.md",
        "0 0 TOOL inspect data inputs.json --show-values --num-items 5 --line-width 100 <- G/inspect.md",
        "0 0 TOOL inspect sparsity affine.onnx --ignore-external-data <- G/inspect.md",
        "2 2 TOOL surgeon prune affine.onnx --remove-node-types CustomOp <- G/faq.md",
        "2 2 TOOL check compatibility affine.onnx --onnxrt <- G/faq.md",
    ],
    "threads and scripts": [
        "0 0 TOOL run dynamic_identity.onnx --onnxrt --onnx-outputs mark all --input-shapes X:[1,2,128,128] <- T#2938",
        "0 0 TOOL run identity.onnx --onnxrt --save-inputs inputs.json --save-outputs outputs.json"
        " <- E/run/02_comparing_across_runs",
        "0 0 TOOL run identity.onnx --onnxrt --load-inputs inputs.json --load-outputs outputs.json --atol 0.001"
        " --rtol 0.001 --check-error-stat median",
        "0 0 TOOL surgeon extract affine.onnx --inputs x1:auto:auto x0:auto:auto --outputs mul_out:auto Y:auto"
        " -o quant_axmodel.onnx",
        "0 0 TOOL surgeon extract affine.onnx --inputs 'x1:[1,3,8,8]:float32' --outputs 'add_out:float32'"
        " --output single_region.onnx",
        "0 0 TOOL surgeon sanitize --fold-constants constants.onnx -o one_loop_folded.onnx --save-external-data"
        " <- NVIDIA/trt-samples-for-hackathon-cn Hackathon2023/controlnet/preprocess.sh",
        "0 0 TOOL run affine.onnx --onnxrt --save-inputs in.json --onnx-outputs mark all --save-outputs golden.json",
        "2 0 TOOL data to-input in.json golden.json -o layerwise.json",
        "0 0 TOOL debug reduce affine.onnx -o reduced.onnx --mode=bisect --load-inputs layerwise.json"
        " --save-debug-replay polygraphy_debug_replay.json --check TOOL run polygraphy_debug.onnx --onnxrt"
        " --load-inputs layerwise.json --load-outputs golden.json",
        "0 0 TOOL debug reduce affine.onnx -o reduced.onnx --mode=bisect --load-inputs layerwise.json"
        " --save-debug-replay polygraphy_debug_replay.json --load-debug-replay polygraphy_debug_replay.json"
        " --check TOOL run polygraphy_debug.onnx --onnxrt --load-inputs layerwise.json --load-outputs golden.json",
    ],
}
#: Lines with TensorRT: both tools write the program that they would run, without TensorRT.
TENSORRT = [
    "0 0 TOOL run affine.onnx --trt --onnxrt <- lix19937/tensorrt-insight deploy/readme.md",
    "0 0 TOOL run affine.onnx --trt --onnxrt --atol 1e-4 --fp16 <- lix19937/tensorrt-insight deploy/readme.md",
    "0 0 TOOL run affine.onnx --trt --onnxrt --fp16 --trt-min-shapes x0:[1,3,8,8] x1:[1,3,8,8]"
    " --trt-opt-shapes x0:[1,3,8,8] x1:[1,3,8,8] --trt-max-shapes x0:[1,3,8,8] x1:[1,3,8,8]"
    " <- lix19937/tensorrt-insight deploy/readme.md",
    "0 0 TOOL run affine.onnx --trt --fp16",
    "0 0 TOOL run dynamic_identity.onnx --trt --onnxrt --input-shapes X:[1,2,4,4] <- E/run/01_comparing_frameworks",
    "0 0 TOOL run affine.onnx --trt --onnxrt --trt-outputs mark all --onnx-outputs mark all --atol 1e-3 --rtol 1e-3"
    " --fail-fast --val-range [0,1]",
    "0 0 TOOL run affine.onnx --trt --fp16 --onnxrt <- T#2691",
    "0 0 TOOL run affine.onnx --trt --onnxrt --trt-outputs mark all --onnx-outputs mark all --fail-fast <- T#1698",
    "0 0 TOOL run affine.onnx --onnxrt --trt --data-loader-script affine_loader.py --rtol 1e-4 --atol 1e-4",
    "0 0 TOOL run affine.onnx --onnxrt --trt --tf32 --data-loader-script affine_loader.py --rtol 1e-4 --atol 1e-4",
    "0 0 TOOL run affine.onnx --trt --save-tactics replay.json",
    "0 0 TOOL run affine.onnx --trt --load-timing-cache=model.timing.cache",
    "0 0 TOOL run affine.onnx --trt --validate --trt-outputs mark all --save-results=trt_out.pkl <- T#2055",
    "0 0 TOOL run model.engine --trt --input-shapes x0:[1,3,8,8] --iterations 200 --warm-up 20 --sequential-runners",
    "0 0 TOOL run model.engine --trt --model-type engine --load-inputs saved.json --save-outputs fp16.json",
    "1 2 TOOL run affine.onnx --trt --onnxrt --tol 1e-3",
    "1 3 TOOL run affine.onnx --onnxrt --trt model.engine",
    "0 0 TOOL run affine.onnx --trt --save-engine model-trained.trt --save-timing-cache model-trained.TimingCache"
    " --save-tactics tactics.json --trt-min-shapes x0:[1,3,8,8] x1:[1,3,8,8] --trt-opt-shapes x0:[1,3,8,8]"
    " x1:[1,3,8,8] --trt-max-shapes x0:[1,3,8,8] x1:[1,3,8,8] --fp16 --memory-pool-limit workspace:1G"
    " --builder-optimization-level 5 --max-aux-streams 4 --input-shapes x0:[1,3,8,8] x1:[1,3,8,8] --verbose"
    " <- C/Run/main.sh",
    "0 0 TOOL run model.engine --model-type engine --trt --input-shapes x0:[1,3,8,8] --save-inputs in.json"
    " --save-outputs out.json --verbose <- C/Run/main.sh",
    "0 0 TOOL run model.engine --model-type engine --trt --input-shapes x0:[1,3,8,8] --load-inputs in.json"
    " --load-outputs out.json --verbose <- C/Run/main.sh",
    "0 0 TOOL run affine.onnx --trt --plugins ./AddScalarPlugin.so <- C/Run/main.sh",
    "0 0 TOOL run affine.onnx --trt --onnxr --fp16 <- T#3744",
    "0 0 TOOL run affine.onnx --trt --onnxrt --atol 0.0001 --rtol 1 <- T#2999",
    "0 0 TOOL run affine.onnx --onnxrt --trt --int8 --calibration-cache calib.cache --save-outputs int8_outputs.json"
    " <- G/run.md",
    "0 0 TOOL run affine.onnx --trt --sparse-weights --verbose <- C/Surgeon/main.sh",
    "0 0 TOOL run affine.onnx --trt --onnxrt --trt-outputs mark all --onnx-outputs mark all --tactic-sources CUBLAS"
    " <- onnx/onnx#4392",
    "1 0 TOOL run affine.onnx --onnxrt --trt --save-engine=best_fp32.engine --workspace 100000000 --atol 1e-3"
    " --rtol 1e-3 --verbose --onnx-outputs mark all --trt-outputs mark all --input-shapes 'x0:[1, 3, 8, 8]'"
    " --fail-fast <- T#2346",
    "0 0 TOOL run affine.onnx --trt --fp16 --precision-constraints none --data-loader-script affine_loader.py -v"
    " --validate --fail-fast <- T#4502",
    "0 0 TOOL run affine.onnx --trt --onnxrt --atol 0.01 --pool-limit workspace:10G --fp16"
    " --load-inputs custom_inputs.json <- T#3101",
    "0 0 TOOL run affine.onnx --onnxrt --trt --providers cpu --pool-limit workspace:24G --atol 1e-3 --rtol 1e-3"
    " --tf32 --verbose --trt-min-shapes x0:[1,3,8,8] --trt-opt-shapes x0:[1,3,8,8] --trt-max-shapes x0:[1,3,8,8]"
    " --input-shapes x0:[1,3,8,8] --onnx-outputs mark all --trt-outputs mark all --load-timing-cache timing.cache"
    " --load-inputs custom.json --save-engine model.plan <- T#4442",
    "0 0 TOOL run affine.onnx --trt --onnxrt --tf32 --save-engine fullmodel_end_fp32.engine --atol 0.001"
    " --rtol 0.001 <- chenxinfeng4/LILAB-py lilab/tensorrt/t2_onnx_to_enginefp16.sh",
    "0 0 TOOL run constrained_network.py --precision-constraints obey --trt --fp16"
    " --save-engine fullmodel_end_fp16.engine <- chenxinfeng4/LILAB-py lilab/tensorrt/t2_onnx_to_enginefp16.sh",
    "0 0 TOOL run model.engine --model-type engine --trt --load-outputs onnx_res.json --abs 1e-4",
    "1 0 TOOL run affine.onnx --onnxrt --trt --workspace 24G --fp16 --save-engine=decoder.plan"
    " --data-loader-script affine_loader.py --atol 1e-3 --rtol 1e-3 --verbose",
]


#: Why polycmp does lines that Polygraphy 0.53.6 ends with an error, by what the line holds.
MORE = {
    "--mode=basic": "a word of earlier versions",
    "data to-input": "a word of earlier versions",
    "--inputs x1 ": "type and shape are the model's where they are not given",
    "--outputs Y:auto:auto": "type and shape are the model's where they are not given",
    "--workspace ": "an option of earlier versions",
    "--mark-all ": "an option that Polygraphy does not have",
}
#: Why polycmp refuses lines that Polygraphy 0.53.6 ends with status 0, by what the line holds.
REFUSED = {
    "--check TOOL run --trt": "the check never reads the file of a step, so every part would fail: it ends the search",
}


def commands(lines: list[str]) -> list[tuple[int, int, str]]:
    """Return of each line Polygraphy's exit status, that of polycmp, and the command."""
    found = [line.partition(" <- ")[0].split(" ", 2) for line in lines]
    return [(int(theirs), int(ours), command) for theirs, ours, command in found]


def source_of(line: str) -> str:
    """Return where a line was found; empty where that was not noted."""
    where = line.partition(" <- ")[2]
    return PLACES.get(where[:2], where[:2]) + where[2:]


def script_of(command: str) -> str:
    """Return the line with TensorRT as it is run where TensorRT is not: it writes the program."""
    return f"{command} --gen-script script.py"


def is_right(theirs: int, ours: int, command: str) -> bool:
    """Return whether polycmp does what Polygraphy does, or what the line meant."""
    return (theirs == 0) == (ours == 0) or (ours == 0 and any(words in command for words in MORE))


def remark_on(theirs: int, ours: int, command: str) -> str:
    """Return why polycmp ends a line otherwise than Polygraphy; empty where it does not."""
    reasons = MORE if theirs and not ours else REFUSED if ours and not theirs else {}
    return next((text for words, text in reasons.items() if words in command), "")


def table() -> str:
    """Return the table of the page."""
    plain = [line for group in LINES.values() for line in group]
    right, right_trt = (sum(is_right(*entry) for entry in commands(lines)) for lines in (plain, TENSORRT))
    noted = sum(bool(source_of(line)) for line in [*plain, *TENSORRT])
    lines = [
        MARKS[0],
        "",
        f"{right} of {len(plain)} lines that need no GPU end as with Polygraphy, or do what they meant where it does",
        f"not ({right / len(plain):.1%}); of {len(TENSORRT)} lines with TensorRT, {right_trt} are read as Polygraphy"
        " reads them, or as it did.",
        f"Of {noted} of these {len(plain) + len(TENSORRT)} lines it is noted where they were found.",
        "",
        "| line | Polygraphy | polycmp | | found in |",
        "|---|---|---|---|---|",
    ]
    for line in [*plain, *TENSORRT]:
        [(theirs, ours, command)] = commands([line])
        words = command.replace("TOOL ", "", 1).replace("|", r"\|").replace("TOOL", "polygraphy")
        lines.append(f"| `{words}` | {theirs} | {ours} | {remark_on(theirs, ours, command)} | {source_of(line)} |")
    return "\n".join([*lines, "", MARKS[1]])


def make_files(folder: Path) -> None:
    """Make what the lines need besides the models of Polygraphy's examples."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    from polycmp.json import save_json

    model = onnx.load(folder / "affine.onnx")
    (folder / "copy.onnx").write_bytes((folder / "constants.onnx").read_bytes())
    weight = model.graph.initializer[0]
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * 1.5, weight.name))
    onnx.save(model, folder / "other.onnx")
    (folder / "affine_loader.py").write_text(LOADER, encoding="utf-8")
    (folder / "external_weights").mkdir()
    (folder / "exclude_weights.txt").write_text("b\n", encoding="utf-8")
    (folder / "constrained_network.py").write_text("def load_network():\n    return None\n", encoding="utf-8")
    (folder / "model.engine").write_bytes(b"no engine: nothing reads it")
    save_json([{name: np.zeros((1, 3, 8, 8), np.float32) for name in ("x0", "x1")}], str(folder / "saved.json"))


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(MARKS[0])[0], text.partition(MARKS[1])[2]
    PAGE.write_text(f"{before}{table()}{after}", encoding="utf-8")
