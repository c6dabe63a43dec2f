"""The cases of `truth.outside.torch_compile`: a file for each, and here what the issues say of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
        remark: What `plain_controls.py` showed where a control is accused.
        is_still_wrong: Whether the release said to be mended is still wrong on other inputs than the issue's.
    """

    name: str
    layer: str
    wrong: str = "2.13.0"
    mended: bool = False
    called: str = ""
    remark: str = ""
    is_still_wrong: bool = False

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
    replace(
        _mended(145379, INDUCTOR, remark="2.13.0 gives 0 as the gradient at NaN; eager mode and float64 give NaN."),
        is_still_wrong=True,
    ),
    _mended(147261, INDUCTOR, OPEN),
    _mended(147450, INDUCTOR),
    _mended(
        148241,
        INDUCTOR,
        remark="Accused wrongly: atan2 asks for the sign of tanhshrink, which is nothing but rounding near 0. On "
        "numbers up to 1e-5 eager mode is 2.4 off the output in float64, the compiled module 3.1. The two are 2.4 "
        "apart, and eager mode is as far from itself where what its operators make is moved by two roundings.",
    ),
    _mended(149991, DYNAMO),
    _mended(150765, DYNAMO),
    _mended(
        151098,
        INDUCTOR,
        remark="Accused wrongly: in float64 the gradient of the keys' bias is 1e-13 at most; eager mode gives 4.0e-5, "
        "the compiled module 6.1e-5, where the gradients of the other parameters reach 262. The two are 4.8e-5 apart; "
        "eager mode is 8.4e-5 from itself where what its operators make is moved by two roundings.",
    ),
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
