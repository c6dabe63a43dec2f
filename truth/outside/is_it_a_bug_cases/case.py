"""What a report is: its label, a model, the release that is asked, and what has to be said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from truth.history.issue import Case

#: How OpenVINO comes to the model: it reads the ONNX file; it runs an .xml that it wrote; or a script runs the file, as
#: the release lacks the API that the backend needs, or as the report calls it otherwise than the backend does.
READ, IR, SCRIPT = "read", "IR", "script"
#: The release that stands for those that mended a fault.
NEWEST = "2026.4.1"
#: In place of a release: an environment in which OpenVINO cannot be imported.
NOTHING = "none"


@dataclass(frozen=True)
class Report:
    """A report on OpenVINO that the study labels.

    Attributes:
        number: The issue's number.
        confirmed: Whether it is labelled a bug.
        what: What was reported, in few words.
        make: Makes the model and its inputs.
        release: The release of OpenVINO that is asked.
        expected: The answer to expect, in words.
        says: Regular expressions of which one has to be found in what is said of a report that is no bug, if the
            backend is accused all the same.
        how: How OpenVINO comes to the model.
        writes: Python code that writes the .xml `target` from the ONNX file `source`; for `IR`.
        code: Python code that runs `model` on `feed` and leaves the outputs by name in `made`; for `SCRIPT`.
        options: Options of the backend, such as "device=gpu"; `{folder}` is a folder of the report's own.
        reference: The backend to compare with; empty for NumPy's outputs in a file.
        words: Further words of the commands.
        model: What to ask about, if not the model that `make` makes: a name that is no file, say.
    """

    number: int
    confirmed: bool
    what: str
    make: Callable[[], Case]
    release: str
    expected: str
    says: tuple[str, ...] = ()
    how: str = READ
    writes: str = ""
    code: str = ""
    options: str = ""
    reference: str = "onnxrt"
    words: tuple[str, ...] = ()
    model: str = ""

    @property
    def link(self) -> str:
        """The issue as a link."""
        return f"[{self.number}](https://github.com/openvinotoolkit/openvino/issues/{self.number})"
