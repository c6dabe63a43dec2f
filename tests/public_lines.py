"""Command lines from public repositories and threads that use Polygraphy: each is run with both tools.

They were found in READMEs, scripts and answers of others, in November 2026; files, tensors and shapes are those of
small models of ours. A line holds the exit statuses of Polygraphy 0.53.6 and of polycmp, and the command, where TOOL
stands for the program's name. Lines of one group follow each other in one folder.
`python public_lines.py` puts the table into `docs/coming-from-polygraphy.md`.
"""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "coming-from-polygraphy.md"
MARKS = "<!-- public lines: made by tests/public_lines.py -->", "<!-- end of public lines -->"

LOADER = """
import numpy as np


def load_data():
    for value in range(2):
        yield {name: np.full((1, 3, 8, 8), value, np.float32) for name in ("x0", "x1")}
"""

#: Lines that need no GPU.
LINES = {
    "cleaning": [
        "0 0 TOOL surgeon sanitize --fold-constants constants.onnx -o folded.onnx",
        "0 0 TOOL surgeon sanitize ./constants.onnx --fold-constants -o ./out/folded.onnx",
        "0 0 TOOL surgeon sanitize --fold-constants copy.onnx -o copy.onnx",
        "0 0 TOOL surgeon sanitize affine.onnx -o static.onnx --fold-constants"
        " --override-input-shapes x0:[1,3,8,8] x1:[1,3,8,8]",
        "1 2 TOOL surgeon sanitize constants.onnx --fold-constants --remove-unused-initializers --output clean.onnx",
        "0 0 TOOL surgeon sanitize dynamic_identity.onnx --fold-constants --override-input-shapes 'X:[1,2,77,77]'"
        " -o sanitize.onnx",
        "0 0 TOOL surgeon extract sanitize.onnx --inputs X:[1,2,77,77]:float32 --outputs Y:float32 -o part.onnx",
        "0 0 TOOL surgeon sanitize affine.onnx --fold-constant --toposort --cleanup -o sorted.onnx",
    ],
    "cutting": [
        "0 0 TOOL surgeon extract affine.onnx --outputs mul_out:auto add_out:auto -o backend.onnx",
        "0 0 TOOL surgeon extract affine.onnx --inputs mul_out:[batch_size,3,8,8]:auto x0:auto:auto -o head.onnx",
        "0 0 TOOL surgeon extract affine.onnx --inputs x1:[1,3,8,8]:float32 --outputs add_out:float32 -o first.onnx",
        "1 2 TOOL surgeon extract affine.onnx --inputs x1:auto:auto --outputs /layers.0/add_out:auto -o layer.onnx",
        "1 0 TOOL surgeon extract affine.onnx --inputs x1 --outputs add_out -o sub.onnx",
        "1 0 TOOL surgeon extract affine.onnx --inputs x0:auto:auto x1:auto:auto --outputs Y:auto:auto -o all.onnx",
        "1 2 TOOL surgeon extract affine.onnx --start mul --end add -o between.onnx",
        "2 0 TOOL inspect model backend.onnx --mode=basic",
    ],
    "looking": [
        "0 0 TOOL inspect model affine.onnx",
        "0 0 TOOL inspect model affine.onnx --show layers",
        "0 0 TOOL inspect model affine.onnx --show layers attrs weights",
        "0 0 TOOL inspect model affine.onnx --model-type=onnx --shape-inference --show layers attrs weights"
        " --list-unbounded-dds --verbose",
        "0 0 TOOL inspect model affine.onnx --mode=onnx",
        "0 0 TOOL check lint affine.onnx",
        "0 0 TOOL check lint affine.onnx --verbose",
        "0 0 TOOL check lint affine.onnx -o report.json",
        "1 1 TOOL check lint bad_graph.onnx -o report.json",
    ],
    "running": [
        "0 0 TOOL run affine.onnx --onnxrt",
        "0 0 TOOL run affine.onnx --onnxrt --atol 1e-3 --rtol 1e-3",
        "0 0 TOOL run identity.onnx --onnxrt --save-inputs inputs.json",
        "0 0 TOOL inspect data inputs.json --show-values",
        "0 0 TOOL run identity.onnx --onnxrt --save-inputs inputs.pkl",
        "0 0 TOOL inspect data inputs.pkl --show-values",
        "0 0 TOOL run affine.onnx --onnxrt --onnx-outputs mark all --save-results=onnx_out.pkl",
        "0 0 TOOL run affine.onnx --onnxrt --onnx-outputs mark all --save-results=out.json",
        "0 0 TOOL run affine.onnx --model-type onnx --onnx-outputs mark all --onnxrt --save-inputs in.json"
        " --save-results golden.json",
        "0 0 TOOL run affine.onnx --onnxrt --load-inputs in.json --load-outputs golden.json --onnx-outputs mark all",
        "1 1 TOOL run other.onnx --onnxrt --onnx-outputs mark all --load-inputs in.json --load-outputs golden.json",
        "0 0 TOOL run dynamic_identity.onnx --onnxrt --input-shapes X:[1,2,28,28] --save-outputs run.json --seed 31193",
        "0 0 TOOL run affine.onnx --onnxrt --providers cpu --data-loader-script affine_loader.py --validate",
        "1 1 TOOL run add_infinity.onnx --onnx-outputs mark all --onnxrt --validate",
        "1 2 TOOL run affine.onnx --onnxrt --onnx-data=affine.onnx",
        "1 2 TOOL run affine.onnx --onnxrt --tol 1e-3",
    ],
    "reducing": [
        "0 0 TOOL run affine.onnx --onnxrt --save-inputs inputs.json --onnx-outputs mark all"
        " --save-outputs golden.json",
        "2 0 TOOL data to-input inputs.json golden.json -o layerwise.json",
        "0 0 TOOL debug reduce affine.onnx -o small.onnx --mode=bisect --load-inputs layerwise.json --check"
        " TOOL run polygraphy_debug.onnx --onnxrt --load-inputs layerwise.json --load-outputs golden.json",
        "0 0 TOOL debug reduce affine.onnx -o small.onnx --fail-regex Op:.Mul --check"
        " TOOL inspect model polygraphy_debug.onnx --show layers",
        "1 2 TOOL debug reduce affine.onnx --check 'TOOL run affine.onnx --onnxrt' -o minimal.onnx",
    ],
    "converting": [
        "0 0 TOOL convert --fp-to-fp16 -o identity-fp16.onnx identity.onnx",
        "0 0 TOOL template trt-network -o define_network.py",
        "0 0 TOOL template trt-network identity.onnx --output modify_network.py",
        "0 0 TOOL template trt-config --fp16 -o config.py",
        "0 0 TOOL template onnx-gs identity.onnx -o modify_onnx.py",
    ],
}
#: Lines with TensorRT: both tools write the program that they would run, without TensorRT.
TENSORRT = [
    "0 0 TOOL run affine.onnx --trt --onnxrt",
    "0 0 TOOL run affine.onnx --trt --onnxrt --atol 1e-4 --fp16",
    "0 0 TOOL run affine.onnx --trt --onnxrt --fp16 --trt-min-shapes x0:[1,3,8,8] x1:[1,3,8,8]"
    " --trt-opt-shapes x0:[1,3,8,8] x1:[1,3,8,8] --trt-max-shapes x0:[1,3,8,8] x1:[1,3,8,8]",
    "0 0 TOOL run affine.onnx --trt --fp16",
    "0 0 TOOL run dynamic_identity.onnx --trt --onnxrt --input-shapes X:[1,2,4,4]",
    "0 0 TOOL run affine.onnx --trt --onnxrt --trt-outputs mark all --onnx-outputs mark all --atol 1e-3 --rtol 1e-3"
    " --fail-fast --val-range [0,1]",
    "0 0 TOOL run affine.onnx --trt --fp16 --onnxrt",
    "0 0 TOOL run affine.onnx --trt --onnxrt --trt-outputs mark all --onnx-outputs mark all --fail-fast",
    "0 0 TOOL run affine.onnx --onnxrt --trt --data-loader-script affine_loader.py --rtol 1e-4 --atol 1e-4",
    "0 0 TOOL run affine.onnx --onnxrt --trt --tf32 --data-loader-script affine_loader.py --rtol 1e-4 --atol 1e-4",
    "0 0 TOOL run affine.onnx --trt --save-tactics replay.json",
    "0 0 TOOL run affine.onnx --trt --load-timing-cache=model.timing.cache",
    "0 0 TOOL run affine.onnx --trt --validate --trt-outputs mark all --save-results=trt_out.pkl",
    "0 0 TOOL run model.engine --trt --input-shapes x0:[1,3,8,8] --iterations 200 --warm-up 20 --sequential-runners",
    "0 0 TOOL run model.engine --trt --model-type engine --load-inputs saved.json --save-outputs fp16.json",
    "1 2 TOOL run affine.onnx --trt --onnxrt --tol 1e-3",
    "1 3 TOOL run affine.onnx --onnxrt --trt model.engine",
]


#: Why polycmp does lines that Polygraphy 0.53.6 ends with an error, by what the line holds.
MORE = {
    "--mode=basic": "a word of earlier versions",
    "data to-input": "a word of earlier versions",
    "--inputs x1 ": "type and shape are the model's where they are not given",
    "Y:auto:auto": "type and shape are the model's where they are not given",
}


def commands(lines: list[str]) -> list[tuple[int, int, str]]:
    """Return of each line Polygraphy's exit status, that of polycmp, and the command."""
    found = [line.split(" ", 2) for line in lines]
    return [(int(theirs), int(ours), command) for theirs, ours, command in found]


def script_of(command: str) -> str:
    """Return the line with TensorRT as it is run where TensorRT is not: it writes the program."""
    return f"{command} --gen-script script.py"


def is_right(theirs: int, ours: int, command: str) -> bool:
    """Return whether polycmp does what Polygraphy does, or what the line meant."""
    return (theirs == 0) == (ours == 0) or (ours == 0 and any(words in command for words in MORE))


def table() -> str:
    """Return the table of the page."""
    lines = [MARKS[0], ""]
    plain = [entry for group in LINES.values() for entry in commands(group)]
    with_trt = commands(TENSORRT)
    right, right_trt = (sum(is_right(*entry) for entry in entries) for entries in (plain, with_trt))
    lines += [
        f"{right} of {len(plain)} lines that need no GPU end as with Polygraphy, or do what they meant",
        f"where it does not; of {len(with_trt)} lines with TensorRT, {right_trt} are read as Polygraphy reads them.",
        "",
        "| line | Polygraphy | polycmp | |",
        "|---|---|---|---|",
    ]
    for theirs, ours, command in [*plain, *with_trt]:
        why = next((text for words, text in MORE.items() if words in command and theirs and not ours), "")
        words = command.replace("TOOL ", "", 1).replace("|", r"\|").replace("TOOL", "polygraphy")
        lines.append(f"| `{words}` | {theirs} | {ours} | {why} |")
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
    (folder / "model.engine").write_bytes(b"no engine: nothing reads it")
    save_json([{name: np.zeros((1, 3, 8, 8), np.float32) for name in ("x0", "x1")}], str(folder / "saved.json"))


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(MARKS[0])[0], text.partition(MARKS[1])[2]
    PAGE.write_text(f"{before}{table()}{after}", encoding="utf-8")
