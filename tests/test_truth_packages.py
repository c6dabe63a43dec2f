"""What `truth.packages` reads of commands: the sentence, whatever its words."""

from __future__ import annotations

import pytest

from truth.packages.commands import sentence_of


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run", "MODEL", "-b", "onnxrt", "-b", "onnx"), "PASSED: "),
        (("run", "MODEL", "-b", "onnxrt", "-b", "onnxrt:name=b,model=OTHER"), "FAILED: "),
        (("run", "MODEL", "-b", "onnxrt:providers=cann", "-b", "onnx"), "ERROR: "),
        (("locate", "MODEL", "-b", "onnxrt", "-b", "onnx"), "NO FAULT: "),
        (("locate", "MODEL", "-b", "onnxrt", "-b", "onnxrt:name=b,model=OTHER"), "FOUND: "),
        (("invariants", "MODEL", "-b", "onnxrt:providers=cann"), "COULD NOT CHECK EVERYTHING: "),
        (("run", "MODEL", "-b", "nobody"), "polycmp: "),
    ],
)
def test_the_sentence_of_a_command_is_read_whatever_its_verdict(words, sentence, polycmp, model, other):
    files = {"MODEL": model, "OTHER": other}
    said = polycmp(*(str(files.get(word, word)).replace("OTHER", str(other)) for word in words))
    assert sentence_of(f"{said.out}{said.err}").startswith(sentence), said.out + said.err
