"""Converts models to LiteRT, without polycmp: run in the converter's own environment.

    python lite_loop.py FOLDER < NAMES

NAMES are a list in JSON; of each, NAME.onnx in FOLDER becomes NAME.tflite, where the converter makes one.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from pathlib import Path

import onnx


def main() -> None:
    """Convert the files whose names come on standard input, with the inputs in the layout that they have."""
    import onnx2tf

    folder = Path(sys.argv[1])
    made = folder / "lite"
    for name in json.load(sys.stdin):
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        source = shutil.copy(folder / f"{name}.onnx", made / "copy.onnx")  # it writes over what it reads
        # Whatever it raises, it does not convert that one; where it ends the process, sys.exit among it, so does that.
        with contextlib.suppress(Exception, SystemExit), contextlib.redirect_stdout(sys.stderr):
            onnx2tf.convert(
                input_onnx_file_path=str(source),
                output_folder_path=str(made / "made"),
                keep_shape_absolutely_input_names=[item.name for item in onnx.load(source).graph.input],
                copy_onnx_input_output_names_to_tflite=True,
                non_verbose=True,
            )
            shutil.move(made / "made" / "copy_float32.tflite", folder / f"{name}.tflite")
    shutil.rmtree(made, ignore_errors=True)


if __name__ == "__main__":
    main()
