"""The cases of `truth.outside.torch_compile`: a file for each, and here what the issues say of them."""

from __future__ import annotations

from dataclasses import dataclass

#: The layers of torch.compile, from the outermost on.
DYNAMO, AOT, INDUCTOR = "Dynamo", "AOTAutograd", "Inductor"
#: How the issue calls the module, where it is not a plain call without gradients: for open sizes, or recording them.
OPEN, RECORDING = "dynamic", "grad"


@dataclass(frozen=True)
class Case:
    """A public silent bug.

    Attributes:
        name: The file with the module and the issue's inputs.
        layer: The layer that is wrong, as the issue and what mended it say.
        wrong: The release of PyTorch that is asked, which has the bug.
        mended: Whether it is among the 130 that the study takes from PyTorch's issues, and so mended since.
        called: How the issue calls the module.
        remark: What a look by hand found where a control is accused.
    """

    name: str
    layer: str
    wrong: str = "2.13.0"
    mended: bool = False
    called: str = ""
    remark: str = ""

    @property
    def link(self) -> str:
        """The issue as a link, or the number of the study's reproducer."""
        kind, _, number = self.name.partition("_")
        return f"[{number}](https://github.com/pytorch/pytorch/issues/{number})" if kind == "issue" else f"no. {number}"


def _mended(number: int, layer: str, called: str = "", remark: str = "") -> Case:
    return Case(f"issue_{number}", layer, "2.6.0", mended=True, called=called, remark=remark)


CASES = (
    _mended(136662, INDUCTOR, RECORDING),
    _mended(143555, INDUCTOR),
    _mended(143648, INDUCTOR),
    _mended(143738, INDUCTOR),
    _mended(145379, INDUCTOR, remark="2.13.0 gives 0 as the gradient at NaN, eager mode gives NaN: a difference."),
    _mended(147261, INDUCTOR, OPEN),
    _mended(147450, INDUCTOR),
    _mended(
        148241,
        INDUCTOR,
        remark="Accused wrongly: below 1e-4 tanhshrink is nothing but rounding, and atan2 asks for its sign.",
    ),
    _mended(149991, DYNAMO),
    _mended(150765, DYNAMO),
    _mended(151098, INDUCTOR, remark="Accused wrongly: the gradient of the keys' bias is 0 but for rounding."),
    _mended(151198, INDUCTOR),
    _mended(153552, DYNAMO),
    _mended(156788, INDUCTOR),
    _mended(161763, INDUCTOR),
    _mended(162410, INDUCTOR),
    _mended(163929, INDUCTOR),
    _mended(171262, INDUCTOR),
    _mended(171366, INDUCTOR),
    Case("issue_174371", AOT),
    Case("issue_175154", AOT),
    Case("issue_197431", INDUCTOR),
    Case("issue_197434", INDUCTOR),
    Case("issue_197448", AOT),
    Case("issue_197582", INDUCTOR),
    Case("issue_197586", DYNAMO),
    Case("issue_197738", AOT, called=RECORDING),
    Case("issue_197739", INDUCTOR),
    Case("issue_198379", INDUCTOR, called=OPEN),
    Case("reproducer_3", INDUCTOR),
    Case("reproducer_4", INDUCTOR),
    Case("reproducer_8", AOT),
    Case("reproducer_9", INDUCTOR),
    Case("reproducer_11", INDUCTOR),
)
