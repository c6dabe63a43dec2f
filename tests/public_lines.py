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

COMPARE_TOPK = """
from polygraphy.comparator import CompareFunc, IterationResult


def of(run, name):
    return IterationResult(outputs={name: run[name]}, runner_name=run.runner_name)


def compare_outputs(run0, run1):
    found = {}
    found.update(CompareFunc.simple(atol=1e-2, rtol=1e-2)(of(run0, "values"), of(run1, "values")))
    found.update(CompareFunc.indices(index_tolerance=50)(of(run0, "indices"), of(run1, "indices")))
    return found
"""

PROFILE_CHECK = """
import pathlib
import sys

sys.exit(86 if b"Mul" in pathlib.Path("polygraphy_debug.onnx").read_bytes() else 0)
"""

#: Lines that need no GPU.
LINES = {
    "cleaning": [
        "0 0 TOOL surgeon sanitize --fold-constants constants.onnx -o folded.onnx <- T#3602",
        "0 0 TOOL surgeon sanitize ./constants.onnx --fold-constants -o ./out/folded.onnx"
        " <- a README on AsyncDriver on a Jetson",
        "0 0 TOOL surgeon sanitize --fold-constants copy.onnx -o copy.onnx <- a script that exports SAM",
        "0 0 TOOL surgeon sanitize ./constants.onnx --fold-constants --output model-folded.onnx --save-external-data"
        " <- ELS-RD/transformer-deploy#121",
        "0 0 TOOL surgeon sanitize affine.onnx -o static.onnx --fold-constants"
        " --override-input-shapes x0:[1,3,8,8] x1:[1,3,8,8] <- E/debug/02_reducing_failing_onnx_models",
        "1 2 TOOL surgeon sanitize constants.onnx --fold-constants --remove-unused-initializers --output clean.onnx"
        " <- a script that optimises int8 models",
        "0 0 TOOL surgeon sanitize dynamic_identity.onnx --fold-constants --override-input-shapes 'X:[1,2,77,77]'"
        " -o sanitize.onnx <- a script that builds a ControlNet for TensorRT",
        "0 0 TOOL surgeon extract sanitize.onnx --inputs X:[1,2,77,77]:float32 --outputs Y:float32 -o part.onnx"
        " <- a script that builds a ControlNet for TensorRT",
        "0 0 TOOL surgeon sanitize affine.onnx --fold-constant --toposort --cleanup -o sorted.onnx"
        " <- C/Surgeon/main.sh",
    ],
    "cutting": [
        "0 0 TOOL surgeon extract affine.onnx --outputs mul_out:auto add_out:auto -o backend.onnx"
        " <- a script that cuts a detector before its NMS",
        "0 0 TOOL surgeon extract affine.onnx --inputs mul_out:[batch_size,3,8,8]:auto x0:auto:auto -o head.onnx"
        " <- a script that cuts a detector before its NMS",
        "0 0 TOOL surgeon extract affine.onnx --inputs x1:[1,3,8,8]:float32 --outputs add_out:float32 -o first.onnx"
        " <- E/surgeon/01_isolating_subgraphs",
        "1 2 TOOL surgeon extract affine.onnx --inputs x1:auto:auto --outputs /layers.0/add_out:auto -o layer.onnx"
        " <- a script on a conformer of NeMo",
        "1 0 TOOL surgeon extract affine.onnx --inputs x1 --outputs add_out -o sub.onnx <- G/surgeon.md",
        "1 0 TOOL surgeon extract affine.onnx --inputs x0:auto:auto x1:auto:auto --outputs Y:auto:auto -o all.onnx"
        " <- a manual on models of Axera, in Chinese",
        "1 2 TOOL surgeon extract affine.onnx --start mul --end add -o between.onnx"
        " <- a guide on losses of precision, in Chinese",
        "2 0 TOOL inspect model backend.onnx --mode=basic <- G/faq.md",
    ],
    "looking": [
        "0 0 TOOL inspect model affine.onnx <- G/faq.md",
        "0 0 TOOL inspect model affine.onnx --show layers <- E/inspect/03_inspecting_an_onnx_model",
        "0 0 TOOL inspect model affine.onnx --show layers attrs weights <- E/inspect/03_inspecting_an_onnx_model",
        "0 0 TOOL inspect model affine.onnx --model-type=onnx --shape-inference --show layers attrs weights"
        " --list-unbounded-dds --verbose <- C/Inspect/main.sh",
        "0 0 TOOL inspect model affine.onnx --mode=onnx <- a README on load tests of Triton",
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
        "0 0 TOOL run identity.onnx --onnxrt --save-inputs inputs.pkl"
        " <- NVIDIA/TensorRT tools/Polygraphy/examples, of early versions",
        "0 0 TOOL inspect data inputs.pkl --show-values"
        " <- NVIDIA/TensorRT tools/Polygraphy/examples, of early versions",
        "0 0 TOOL run affine.onnx --onnxrt --onnx-outputs mark all --save-results=onnx_out.pkl"
        " <- a README on BERT with a plugin of its own",
        "0 0 TOOL run affine.onnx --onnxrt --onnx-outputs mark all --save-results=out.json <- T#2055",
        "0 0 TOOL run affine.onnx --model-type onnx --onnx-outputs mark all --onnxrt --save-inputs in.json"
        " --save-results golden.json <- a program that searches for mixed precision",
        "0 0 TOOL run affine.onnx --onnxrt --load-inputs in.json --load-outputs golden.json --onnx-outputs mark all",
        "1 1 TOOL run other.onnx --onnxrt --onnx-outputs mark all --load-inputs in.json --load-outputs golden.json",
        "0 0 TOOL run dynamic_identity.onnx --onnxrt --input-shapes X:[1,2,28,28] --save-outputs run.json --seed 31193"
        " <- NVIDIA/trt-samples-for-hackathon-cn, a scatter plot of errors",
        "0 0 TOOL run affine.onnx --onnxrt --providers cpu --data-loader-script affine_loader.py --validate"
        " <- a script that validates a stereo network",
        "1 1 TOOL run add_infinity.onnx --onnx-outputs mark all --onnxrt --validate <- E/run/07_checking_nan_inf",
        "1 2 TOOL run affine.onnx --onnxrt --onnx-data=affine.onnx",
        "1 2 TOOL run affine.onnx --onnxrt --tol 1e-3 <- a plan of a project for a Jetson, in Spanish",
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
        "1 2 TOOL debug reduce affine.onnx --check 'TOOL run affine.onnx --onnxrt' -o minimal.onnx"
        " <- a guide on losses of precision, in Chinese",
        "0 0 TOOL debug repeat --until=5 --ignore-fail-code=1 --check false"
        " <- NVIDIA/TensorRT tools/Polygraphy/tests/tools/test_debug.py",
        "0 0 TOOL debug repeat --until=5 --check false <- NVIDIA/TensorRT tools/Polygraphy/tests/tools/test_debug.py",
    ],
    "converting": [
        "0 0 TOOL convert --fp-to-fp16 -o identity-fp16.onnx identity.onnx <- E/convert/04_converting_models_to_fp16",
        "0 0 TOOL template trt-network -o define_network.py <- E/run/04_defining_a_tensorrt_network_or_config_manually",
        "0 0 TOOL template trt-network identity.onnx --output modify_network.py <- C/Template/main.sh",
        "0 0 TOOL template trt-config --fp16 -o config.py <- notes of a student, in Chinese",
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
        " -o quant_axmodel.onnx <- a manual on models of Axera, in Chinese",
        "0 0 TOOL surgeon extract affine.onnx --inputs 'x1:[1,3,8,8]:float32' --outputs 'add_out:float32'"
        " --output single_region.onnx",
        "0 0 TOOL surgeon sanitize --fold-constants constants.onnx -o one_loop_folded.onnx --save-external-data"
        " <- NVIDIA/trt-samples-for-hackathon-cn Hackathon2023/controlnet/preprocess.sh",
        "0 0 TOOL run affine.onnx --onnxrt --save-inputs in.json --onnx-outputs mark all --save-outputs golden.json"
        " <- yyq19990828/onnxtools, the script that reduces",
        "2 0 TOOL data to-input in.json golden.json -o layerwise.json"
        " <- yyq19990828/onnxtools, the script that reduces",
        "0 0 TOOL debug reduce affine.onnx -o reduced.onnx --mode=bisect --load-inputs layerwise.json"
        " --save-debug-replay polygraphy_debug_replay.json --check TOOL run polygraphy_debug.onnx --onnxrt"
        " --load-inputs layerwise.json --load-outputs golden.json <- yyq19990828/onnxtools, the script that reduces",
        "0 0 TOOL debug reduce affine.onnx -o reduced.onnx --mode=bisect --load-inputs layerwise.json"
        " --save-debug-replay polygraphy_debug_replay.json --load-debug-replay polygraphy_debug_replay.json"
        " --check TOOL run polygraphy_debug.onnx --onnxrt --load-inputs layerwise.json --load-outputs golden.json",
    ],
    "a third sample": [
        "1 0 TOOL run affine.onnx --onnxrt -v --workspace=28G --fp16 --input-shapes 'x0:[1,3,8,8]' --onnx-outputs"
        " mark all"
        " --save-inputs onnx_input.json --save-outputs onnx_res.json <- JQZhai/LeViT-TensorRT README.md",
        "1 0 TOOL run affine.onnx --onnxrt -v --workspace=28G --fp16 --input-shape 'x0:[1,3,8,8]' 'x1:[1,3,8,8]'"
        " --onnx-outputs mark all <- notes on the precision of a ControlNet",
        "0 3 TOOL surgeon extract affine.onnx --inputs x0:[1,3,8,8]:float32 x0:[1,3,4,4]:float32 x1:[1,3,8,8]:float32"
        " --outputs Y:float32 -o sub1.onnx <- notes of an engineer on profiling and engines, in Chinese",
        "0 0 TOOL surgeon sanitize affine.onnx --override-input-shapes x0:[1,3,8,8] -o vit_static.onnx"
        " <- a course on deployment, in Chinese",
        "1 2 TOOL debug reduce affine.onnx --check 'TOOL run affine.onnx --onnxrt' <- a course on deployment, in"
        " Chinese",
        "1 2 TOOL debug reduce affine.onnx --output reduced_model.onnx --min-good minimal_good.onnx --mode bisect"
        " --check 'TOOL run --trt --validate' <- yyq19990828/onnxtools docs, the guide on Python",
        "1 2 TOOL surgeon sanitize affine.onnx --override-outputs mark all -o marked.onnx"
        " <- a script that isolates layers",
        "0 0 TOOL surgeon sanitize dynamic_identity.onnx -o identity_bs4.onnx --override-input-shapes 'X:[4, 2, 28,"
        " 28]'"
        " <- a script that makes and calibrates a model of one batch size",
        "0 0 TOOL surgeon sanitize constants.onnx --fold-constant -o constants-pss.onnx <- a script for a folder of"
        " models",
        "0 0 TOOL convert --fp-to-fp16 -o ./weights/affine_fp16.onnx ./affine.onnx <- notes on inswapper with TensorRT",
        "0 0 TOOL run weights/affine_fp16.onnx --onnx-outputs mark all --onnxrt --validate --log-file nan.log"
        " <- notes on inswapper with TensorRT",
        "1 3 TOOL run affine.onnx --onnxrt --execution-providers=cuda <- T#3303",
        "0 0 TOOL run affine.onnx --onnxrt --gen-script - <- NVIDIA/trt-samples-for-hackathon-cn, a runner of one's"
        " own",
        "0 0 TOOL run dynamic_identity.onnx --onnxrt --input-shapes X:[1,2,28,28] --save-inputs shared_inputs.json"
        " --save-outputs outputs_x86_64.json <- a script that compares int8 on two kinds of CPU",
        "0 0 TOOL run dynamic_identity.onnx --onnxrt --input-shapes X:[1,2,28,28] --load-inputs shared_inputs.json"
        " --load-outputs outputs_x86_64.json <- a script that compares int8 on two kinds of CPU",
        "0 0 TOOL inspect data outputs_x86_64.json <- an answer to NVIDIA/TensorRT#4605",
        "0 2 TOOL template shard-hints affine.onnx --parallelism CP --gpus 2 -o hints-CP.json"
        " <- NVIDIA/trt-samples-for-hackathon-cn, on several devices",
    ],
    "a fourth sample": [
        "0 0 TOOL surgeon sanitize --fold-constants constants.onnx -o folded_model.onnx <-"
        " lix19937/tensorrt-insight deploy/readme.md",
        "1 0 TOOL run --onnxrt --int8 --workspace=10000M affine.onnx --data-loader-script affine_loader.py"
        " --onnx-outputs=mul_out --save-outputs output_org.log <- a script that compares lanes of YOLOX",
        "1 0 TOOL run --onnxrt --int8 --workspace=10000M affine.onnx --data-loader-script affine_loader.py"
        " --onnx-outputs=mul_out --save-outputs output_5.log <- a script that compares lanes of YOLOX",
        "1 0 TOOL run --abs 1e-5 --load-outputs output_org.log output_5.log <- a script that compares lanes of YOLOX",
        "0 0 TOOL run affine.onnx --onnxrt --save-inputs model-trained-inputs.raw --save-outputs"
        " model-trained-outputs.raw --iterations 2 <- C/Data/main.sh",
        "0 0 TOOL inspect data model-trained-inputs.raw --all --show-values --histogram --num-items 5"
        " --line-width 100 <- C/Inspect/main.sh",
        "0 0 TOOL inspect data model-trained-outputs.raw --all --show-values --histogram --num-items 5"
        " --line-width 100 <- C/Inspect/main.sh",
        "0 0 TOOL data merge model-trained-inputs.raw model-trained-outputs.raw --output model-trained-io.raw <-"
        " C/Data/main.sh",
        "0 0 TOOL run affine.onnx --onnxrt --iterations 3 --save-outputs model-trained-outputs-2.raw <-"
        " C/Inspect/main.sh",
        "0 0 TOOL data concat model-trained-outputs.raw model-trained-outputs-2.raw --output"
        " model-trained-outputs-all.raw <- C/Inspect/main.sh",
        "0 0 TOOL inspect data model-trained-outputs-all.raw <- C/Inspect/main.sh",
        "0 0 TOOL inspect model affine.onnx --visual --save-visual model-trained.html <- C/Inspect/main.sh",
        "0 0 TOOL inspect sparsity affine.onnx <- C/Inspect/main.sh",
        "0 0 TOOL surgeon sanitize affine.onnx --output frozen.onnx --fold-constants --override-input-shapes"
        " x0:[1,3,8,8] x1:[1,3,8,8] <- a guard for upgrades of TensorRT, its commands",
        "0 0 TOOL debug reduce affine.onnx --output reduced.onnx --mode=bisect --fail-code 86 --check python3"
        " profile_check.py --profile p.json <- a guard for upgrades of TensorRT, its commands",
        "0 0 TOOL debug reduce affine.onnx --output reduced2.onnx --mode=linear --fail-code 86 --check python3"
        " profile_check.py --profile p.json <- a guard for upgrades of TensorRT, its commands",
        "0 0 TOOL surgeon sanitize --override-input-shapes X:[128,2,28,28] -o bs128.onnx dynamic_identity.onnx <-"
        " NVIDIA Model Optimizer, the README on measuring ResNet-50, in Chinese",
        "0 0 TOOL run affine.onnx --onnxrt --onnx-outputs mark all --save-outputs all_node_outputs.json <- a plan"
        " for exporting PaliGemma",
        "0 0 TOOL check lint affine.onnx -o report.json <- notes of a student",
        "0 0 TOOL run affine.onnx --onnxrt --save-inputs inputs.json --save-outputs outputs.json <- notes of a"
        " student, in Chinese",
        "0 0 TOOL run affine.onnx --onnxrt --load-inputs inputs.json --load-outputs outputs.json --atol 0.001"
        " --rtol 0.001 --check-error-stat median <- notes of a student, in Chinese",
        "0 0 TOOL inspect model affine.onnx --show layers <- notes of a student, in Chinese",
        "1 0 TOOL run affine.onnx --onnxrt --load-inputs inputs.json --warm-up 1 --save-results"
        " fp32_outputs_onnx.json --verbose --profiling-verbosity detailed <- a script on the branch of a lidar",
        "0 2 TOOL run affine.onnx --validate --log-file recipe.validate.log <- a Makefile with recipes for int8",
        "1 2 TOOL run affine.onnx --trt --debug-precision --log-file recipe.debug_precision.log <- a Makefile"
        " with recipes for int8",
        "0 0 TOOL surgeon sanitize constants.onnx --fold-constants --output constants_tmp.onnx <- Lyric0620/ETSAuto#5",
        "0 0 TOOL run identity.onnx --onnxrt --onnxrt --check-error-stat quantile <- NVIDIA/TensorRT"
        " tools/Polygraphy/tests/tools/test_run.py",
        "1 2 TOOL run identity.onnx --onnxrt --onnxrt --check-average <- NVIDIA/TensorRT"
        " tools/Polygraphy/tests/tools/test_run.py",
        "0 0 TOOL run identity.onnx --onnxrt --val-range x:[1.0,2.0] [0.5,1.5] <- NVIDIA/TensorRT"
        " tools/Polygraphy/tests/tools/test_run.py",
        "1 2 TOOL run identity.onnx --onnxrt --top-k=5 <- NVIDIA/TensorRT tools/Polygraphy/tests, of early versions",
        "0 0 TOOL run identity.onnx --onnxrt --onnxrt --postprocess top-1 --compare-func=indices <-"
        " NVIDIA/TensorRT tools/Polygraphy/tests/tools/test_run.py",
        "0 0 TOOL run topk.onnx --onnxrt --onnxrt --compare indices --index-tolerance indices:50 <- a skill that"
        " explains top-k with IxRT",
        "0 0 TOOL run topk.onnx --onnxrt --onnxrt --compare-func-script compare_topk.py <- a skill that explains"
        " top-k with IxRT",
        "1 2 TOOL surgeon extract subgraph_in.onnx --inputs X,auto,auto --outputs Y,float32 -o subgraph.onnx <-"
        " NVIDIA/TensorRT tools/Polygraphy/examples, of early versions",
        "2 0 TOOL inspect model affine.onnx --mode=full <- C/Inspect/main.sh",
        "0 0 TOOL convert affine.onnx --convert-to onnx -o saved.onnx <- C/Convert/main.sh",
        "0 0 TOOL run dynamic_identity.onnx --onnxrt --input-shapes X:1x2x8x8 <- a program that exports engines",
        "1 3 TOOL run dynamic_identity.onnx --onnxrt --shape X:1x2x8x8 <- notes on exporting DINOv3, in Chinese",
        "2 2 TOOL convert affine.onnx --int8 --data-loader-script affine_loader.py --calibration-cache"
        " calib.cache <- a course on quantisation, in Chinese",
        "0 0 TOOL --version <- T#2338",
        "0 0 TOOL debug --help <- C/Inspect/main.sh",
        "0 0 TOOL surgeon weight-strip --help <- C/Inspect/main.sh",
    ],
    "without TensorRT": [
        "1 3 TOOL convert identity.onnx --convert-to onnx-like-trt-network -o like.onnx <- C/Inspect/main.sh",
        "1 3 TOOL inspect model affine.onnx --convert-to=trt --show layers <- C/Inspect/main.sh",
        "1 3 TOOL inspect model affine.onnx --show layers --display-as=trt <- a README on segmentation with YOLO",
        "1 3 TOOL inspect capability --with-partitioning affine.onnx <- E/inspect/08",
        "1 3 TOOL convert affine.onnx --int8 --precision-constraints prefer --sparse-weights --calib-base-cls"
        " IInt8MinMaxCalibrator --data-loader-script affine_loader.py --calibration-cache c.cache -o model.engine"
        " <- a program that calibrates YOLO",
        "1 3 TOOL inspect model affine.onnx --show layers attrs weights --display-as=trt <- notes of a student, in"
        " Chinese",
        "1 3 TOOL inspect capability affine.onnx <- a course on deployment, in Chinese",
        "1 3 TOOL convert affine.onnx --fp16 --output models/car.engine <- a README of a robot that aims",
        "1 3 TOOL convert affine.onnx -o stgcn_fp16_b-1.engine --fp16 --trt-min-shapes x0:[1,3,8,8]"
        " --trt-opt-shapes x0:[1,3,8,8] --trt-max-shapes x0:[1,3,8,8] <- a script that builds engines for Triton",
        "1 3 TOOL convert affine.onnx --int8 --data-loader-script affine_loader.py --calibration-cache"
        " calibration.cache"
        " -o model_int8.engine <- an answer to NVIDIA/TensorRT#4605",
        "1 3 TOOL convert affine.onnx --int8 --calibration-cache calibration.cache"
        " --trt-network-postprocess-script fix_precision.py --precision-constraints obey -o model_int8_fixed.engine"
        " <- an answer to NVIDIA/TensorRT#4605",
        "1 3 TOOL convert affine.onnx --int8 --trt-outputs mark all --calibration-cache test.onnx.cache"
        " -o test.onnx.polygraphy.int8.cache.engine <- notes of an engineer on profiling and engines, in Chinese",
        "1 3 TOOL inspect model model.engine --model-type engine --show layers"
        " <- notes of an engineer on profiling and engines, in Chinese",
        "1 2 TOOL debug precision affine.onnx --fp16 --mode bisect --precision float32 --check"
        " your_accuracy_check_command"
        " <- a course on TensorRT",
        "2 2 TOOL debug precision affine.onnx --fp16 --workspace 28G --no-remove-intermediate --log-file"
        " ./log_file.json"
        " --trt-min-shapes 'x0:[1,3,8,8]' --trt-opt-shapes 'x0:[1,3,8,8]' --trt-max-shapes 'x0:[1,3,8,8]' -p fp32"
        " --mode bisect --dir forward --show-output --artifacts ./polygraphy_debug.engine --art-dir ./art-dir --check"
        " TOOL run polygraphy_debug.engine --trt --load-outputs onnx_res.json --abs 1e-4"
        " <- JQZhai/LeViT-TensorRT README.md",
    ],
}
#: Lines with TensorRT: both tools write the program that they would run, without TensorRT.
TENSORRT = [
    "0 0 TOOL run affine.onnx --trt --onnxrt <- lix19937/tensorrt-insight deploy/readme.md",
    "0 0 TOOL run affine.onnx --trt --onnxrt --atol 1e-4 --fp16 <- lix19937/tensorrt-insight deploy/readme.md",
    "0 0 TOOL run affine.onnx --trt --onnxrt --fp16 --trt-min-shapes x0:[1,3,8,8] x1:[1,3,8,8]"
    " --trt-opt-shapes x0:[1,3,8,8] x1:[1,3,8,8] --trt-max-shapes x0:[1,3,8,8] x1:[1,3,8,8]"
    " <- lix19937/tensorrt-insight deploy/readme.md",
    "0 0 TOOL run affine.onnx --trt --fp16 <- a README on a U-Net for several cameras",
    "0 0 TOOL run dynamic_identity.onnx --trt --onnxrt --input-shapes X:[1,2,4,4] <- E/run/01_comparing_frameworks",
    "0 0 TOOL run affine.onnx --trt --onnxrt --trt-outputs mark all --onnx-outputs mark all --atol 1e-3 --rtol 1e-3"
    " --fail-fast --val-range [0,1] <- a README on the detection of hands",
    "0 0 TOOL run affine.onnx --trt --fp16 --onnxrt <- T#2691",
    "0 0 TOOL run affine.onnx --trt --onnxrt --trt-outputs mark all --onnx-outputs mark all --fail-fast <- T#1698",
    "0 0 TOOL run affine.onnx --onnxrt --trt --data-loader-script affine_loader.py --rtol 1e-4 --atol 1e-4"
    " <- a course on TensorRT",
    "0 0 TOOL run affine.onnx --onnxrt --trt --tf32 --data-loader-script affine_loader.py --rtol 1e-4 --atol 1e-4"
    " <- a course on TensorRT",
    "0 0 TOOL run affine.onnx --trt --save-tactics replay.json",
    "0 0 TOOL run affine.onnx --trt --load-timing-cache=model.timing.cache",
    "0 0 TOOL run affine.onnx --trt --validate --trt-outputs mark all --save-results=trt_out.pkl <- T#2055",
    "0 0 TOOL run model.engine --trt --input-shapes x0:[1,3,8,8] --iterations 200 --warm-up 20 --sequential-runners"
    " <- a script that times engines of YOLO, in Korean",
    "0 0 TOOL run model.engine --trt --model-type engine --load-inputs saved.json --save-outputs fp16.json",
    "1 2 TOOL run affine.onnx --trt --onnxrt --tol 1e-3 <- a plan of a project for a Jetson, in Spanish",
    "1 3 TOOL run affine.onnx --onnxrt --trt model.engine <- a script that isolates layers",
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
    "0 0 TOOL run model.engine --model-type engine --trt --load-outputs onnx_res.json --abs 1e-4"
    " <- JQZhai/LeViT-TensorRT README.md",
    "1 0 TOOL run affine.onnx --onnxrt --trt --workspace 24G --fp16 --save-engine=decoder.plan"
    " --data-loader-script affine_loader.py --atol 1e-3 --rtol 1e-3 --verbose",
    "0 0 TOOL run affine.onnx --trt --onnxrt --atol 0.5 --rtol 0.5 --fp16 --trt-outputs mark all --onnx-outputs mark"
    " all"
    " --precision-constraints prefer --layer-precisions Mul_435:float32"
    " <- notes of an engineer on profiling and engines, in Chinese",
    "2 2 TOOL run affine.onnx --onnxrt --trt --compare <- yyq19990828/onnxtools CLAUDE.md",
    "0 0 TOOL run model.engine --plugins nvinfer_plugin_10.dll ./LayerNorm.dll --trt --data-loader-script"
    " affine_loader.py"
    " --input-shape x0:[1,3,8,8] x1:[1,3,8,8] --validate --trt-outputs mark all --save-results=trt_out.pkl"
    " <- a README on BERT with a plugin of its own",
    "0 0 TOOL run affine.onnx --trt --int8 --fp16 --onnxrt --trt-outputs mark all --onnx-outputs mark all --atol 1e-1"
    " --rtol 1e-1 --fail-fast <- a notebook on quantised EfficientNet",
    "1 0 TOOL run affine.onnx --onnxrt --trt --workspace 100000000 --save-engine=model_FP16.plan --atol 1e-2 --rtol"
    " 1e-2"
    " --fp16 --verbose --onnx-outputs mark all --trt-outputs mark all --trt-min-shapes 'ncomm:0:[511,384]'"
    " --trt-opt-shapes 'ncomm:0:[511,384]' --trt-max-shapes 'ncomm:0:[511,384]' --input-shapes 'ncomm:0:[511,384]'"
    " <- a diary of a competition, in Chinese",
    "0 0 TOOL run affine.onnx --trt --onnxrt --onnx-outputs mark all --trt-outputs mark all --rtol 1e-5 --atol 1e-5"
    " <- a report on layout analysis for a hackathon",
    "1 2 TOOL run --trt --onnxrt --atol 1e-2 --rtol 1e-2 --input-shapes images:[1,3,416,416]"
    " <- a plan of a project for a Jetson, in Spanish",
    "1 2 TOOL run affine.onnx --onnxrt --trt model.engine --onnx-outputs mul_out add_out --trt-outputs mul_out add_out"
    " --save-inspect-iter-info out.json <- a script that isolates layers",
    "0 0 TOOL run model.engine --trt --load-inputs test_inputs.json --load-outputs fp16_outputs.json"
    " <- an answer to NVIDIA/TensorRT#4605",
    "2 2 TOOL run affine.onnx --trt --precision fp16 --inputs calib_data.json <- notes of a student, in Chinese",
    "0 2 TOOL run model.engine --inputs calib_data.json <- notes of a student, in Chinese",
    "0 0 TOOL run affine.onnx --trt --validate --save-tactics replay.json <- a guide on deployment with TensorRT",
    "1 2 TOOL run affine.onnx --trt --load-tactics replay.json --tactic-replay fallback"
    " <- a guide on deployment with TensorRT",
    "0 0 TOOL run affine.onnx --trt --pluginref <- NVIDIA/trt-samples-for-hackathon-cn, on references of plugins",
    "0 0 TOOL run affine.onnx --trt --onnxrt --save-engine=model_32.plan --pool-limit workspace:1G <- T#2336",
    "0 0 TOOL run affine.onnx --trt --onnxrt --precision-constraints obey --save-engine model.engine"
    " --providers CUDAExecutionProvider --atol 1e-3 --rtol 1e-3 <- a thread of NVIDIA's forum on segmentation",
    "2 0 TOOL run affine.onnx --onnx --onnxrt --trt <- G/run.md",
    "1 2 TOOL run affine.onnx --trt --save-tactics=tactics.json --tacticReplay=tactics.json"
    " <- a course on deployment, in Chinese",
    "0 0 TOOL run affine.onnx --trt --fp16 --trt-outputs mark all --save-outputs fp16_all_layers.json"
    " <- an answer to NVIDIA/TensorRT#4605",
    "0 0 TOOL run affine.onnx --trt --int8 --calibration-cache calibration.cache --trt-outputs mark all"
    " --load-outputs fp16_all_layers.json --fail-fast <- an answer to NVIDIA/TensorRT#4605",
    "0 0 TOOL run affine.onnx --trt --onnxrt --atol 0.001 --rtol 0.001 --fp16 <- lix19937/tensorrt-insight"
    " deploy/readme.md",
    "0 0 TOOL run dynamic_identity.onnx --trt --fp16 --onnxrt --input-shapes X:[1,2,8,8] --load-inputs"
    " saved.json --atol 0.001 --rtol 0.001 --check-error-stat median <- notes of a student, in Chinese",
    "0 0 TOOL run affine.onnx --trt --fp16 --onnxrt --load-inputs saved.json --trt-outputs mark all"
    " --onnx-outputs mark all --atol 0.01 --rtol 0.01 --check-error-stat median --fail-fast <- notes of a"
    " student, in Chinese",
    "0 0 TOOL run --trt model.engine --model-type=engine --load-inputs saved.json --load-outputs outputs.json"
    " --atol 0.001 --rtol 0.001 --check-error-stat median <- notes of a student, in Chinese",
    "2 2 TOOL run affine.onnx --plugins --trt --data-loader-script affine_loader.py --trt-min-shapes"
    " x0:[2000,32,4] x1:[2000,] --trt-opt-shapes x0:[3000,32,4] x1:[3000,] --trt-max-shapes x0:[9000,32,4]"
    " x1:[9000,] --validate --workspace 4096M <- T#2338",
    "0 0 TOOL run --fp16 --trt --onnxrt affine.onnx --trt-min-shapes x0:[1,3,8,8],x1:[1,3,8,8]"
    " --trt-opt-shapes x0:[1,3,8,8],x1:[1,3,8,8] --trt-max-shapes x0:[1,3,8,8],x1:[1,3,8,8] --load-inputs"
    " saved.json <- T#4637",
    "0 0 TOOL run affine.onnx --trt --fp16 --onnxrt --trt-outputs mark all --onnx-outputs mark all <- T#2724",
    "0 0 TOOL run affine.onnx --onnxrt --trt --fp16 --verbose --onnx-outputs mark all --trt-outputs mark all"
    " --atol 1e-3 --rtol 1e-3 --input-shapes 'x0:[1,3,8,8]' <- T#3035",
    "0 0 TOOL run affine.onnx --trt --int8 --fp16 --onnxrt --trt-outputs mark all --onnx-outputs mark all"
    " --atol 1e-1 --rtol 1e-1 --fail-fast <- a notebook on quantised EfficientNet",
    "0 0 TOOL run affine.onnx --trt --verbose --validate --plugins deformableAttentionAggr.so --save-engine"
    " sparse4dhead1st_polygraphy.engine <- a deployment of Sparse4D",
    "1 0 TOOL run model.engine --trt --warm-up 10 --iters 1000 <- scripts that time quantised and pruned engines",
    "0 0 TOOL run affine.onnx --trt --onnxrt --val-range x0:[0,255] x1:[0,255] --input-shapes 'x0:[1,3,8,8]'"
    " 'x1:[1,3,8,8]' <- a README on RAFT with TensorRT",
    "0 0 TOOL run affine.onnx --trt --save-engine model.engine --input-shapes x0:1x3x8x8 <- a program that"
    " exports engines",
    "0 0 TOOL run --trt --onnxrt affine.onnx --val-range [-10,10] --iterations 100 <- a fix for Clip behind MatMul",
    "0 0 TOOL run affine.onnx --onnxrt --trt --load-inputs saved.json --atol 1e-3 --rtol 1e-3"
    " --check-error-stat elemwise --validate <- a plan for a port to TensorRT",
    "0 0 TOOL run affine.onnx --trt --fp16 --onnxrt --val-range x0:[1,2] --layer-precisions Add:float16"
    " Sub:float32 --precision-constraints prefer --check-error-stat median <- E/run/08",
    "0 0 TOOL run affine.onnx --trt --onnxrt --onnx-outputs mark all --trt-outputs mark all"
    " --builder-optimization-level 5 --verbose <- a script on YOLOv5",
    "0 0 TOOL run affine.onnx --trt --strongly-typed --onnxrt --atol 1e-2 --rtol 1e-2 --check-error-stat max"
    " --verbose <- a guide on NaN in float16, in Chinese",
    "1 0 TOOL run model.engine --model-type engine --trt --load-inputs saved.json --warm-up 1 --save-results"
    " out.json --verbose --profiling-verbosity detailed <- a script on the branch of a lidar",
    "0 0 TOOL run topk.onnx --trt --onnxrt --fp16 --compare indices --index-tolerance indices:50 <- a skill"
    " that explains top-k with IxRT",
]


#: Why polycmp does lines that Polygraphy 0.53.6 ends with an error, by what the line holds.
MORE = {
    "--mode=basic": "a word of earlier versions",
    "data to-input": "a word of earlier versions",
    "--inputs x1 ": "type and shape are the model's where they are not given",
    "--outputs Y:auto:auto": "type and shape are the model's where they are not given",
    "--workspace ": "an option of earlier versions",
    "--workspace=": "an option of earlier versions",
    " --onnx --onnxrt ": "a backend that Polygraphy does not have",
    "--mark-all ": "an option that Polygraphy does not have",
    "--warm-up ": "warming up needs no --sequential-runners",
    "--abs 1e-5 --load-outputs": "the lines before it wrote the files here",
    "--mode=full": "a word of earlier versions",
}
#: Why polycmp refuses lines that Polygraphy 0.53.6 ends with status 0, by what the line holds.
REFUSED = {
    "--check TOOL run --trt": "the check never reads the file of a step, so every part would fail: it ends the search",
    "x0:[1,3,4,4]:float32": "the shapes contradict each other: ONNX refuses the model that Polygraphy writes",
    "template shard-hints": "no model is spread over devices",
    "--inputs calib_data.json": "a file is no shape, and nothing is run",
    "--validate --log-file recipe": "nothing to run is an error",
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
    every = [*plain, *TENSORRT]
    noted = sum(bool(source_of(line)) for line in every)
    lines = [
        MARKS[0],
        "",
        f"{right} of {len(plain)} lines that need no GPU end as with Polygraphy, or do what they meant where it does",
        f"not ({right / len(plain):.1%}); of {len(TENSORRT)} lines with TensorRT, {right_trt} are read as Polygraphy"
        " reads them, or as it did.",
        f"Of {len(every) - noted} of these {len(every)} lines it was not noted where they were found.",
        "",
        "| line | Polygraphy | polycmp | | found in |",
        "|---|---|---|---|---|",
    ]
    for line in every:
        [(theirs, ours, command)] = commands([line])
        words = command.replace("TOOL ", "", 1).replace("|", r"\|").replace("TOOL", "polygraphy")
        lines.append(f"| `{words}` | {theirs} | {ours} | {remark_on(theirs, ours, command)} | {source_of(line)} |")
    return "\n".join([*lines, "", MARKS[1]])


def make_files(folder: Path) -> None:
    """Make what the lines need besides the models of Polygraphy's examples."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper

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
    values = [helper.make_tensor_value_info(name, kind, [1, 300]) for name, kind in (("values", 1), ("indices", 7))]
    node = helper.make_node("TopK", ["x", "k"], ["values", "indices"], name="topk")
    scores = helper.make_tensor_value_info("x", 1, [1, 8400])
    graph = helper.make_graph([node], "top", [scores], values, [helper.make_tensor("k", 7, [1], [300])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "topk.onnx")
    (folder / "compare_topk.py").write_text(COMPARE_TOPK, encoding="utf-8")
    (folder / "profile_check.py").write_text(PROFILE_CHECK, encoding="utf-8")
    (folder / "subgraph_in.onnx").write_bytes((folder / "dynamic_identity.onnx").read_bytes())
    (folder / "model.engine").write_bytes(b"no engine: nothing reads it")
    save_json([{name: np.zeros((1, 3, 8, 8), np.float32) for name in ("x0", "x1")}], str(folder / "saved.json"))


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(MARKS[0])[0], text.partition(MARKS[1])[2]
    PAGE.write_text(f"{before}{table()}{after}", encoding="utf-8")
