"""`polycmp inspect model` and `polycmp inspect sparsity`; other plugins add more below `inspect`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polycmp.command import BackendCommand, examples, verbosity_params
from polycmp.sentences import counted
from polycmp.spec import opt
from polycmp.terminal import echo, visible
from polycmp_onnx.tools.frame import ReadSection, model_argument, open_onnx, read_onnx
from polycmp_onnx.tools.model_command import ModelCommand

if TYPE_CHECKING:
    import click

    from polycmp.command import Invocation
    from polycmp.model import Model
    from polycmp.plugins import Contributed
    from polycmp.spec import LoaderSpec, LoaderTools
#: What `--mode` of earlier versions of Polygraphy showed, as values of `--show`.
_MODES: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "basic": ("layers",),
    "attr": ("layers", "attrs"),
    "attrs": ("layers", "attrs"),
    "full": ("layers", "attrs", "weights"),
}


@dataclass(frozen=True)
class InspectSection:
    """Showing."""

    display_as: str = opt(
        "", help="Convert MODEL to another kind before showing it.", alias="--convert-to", metavar="KIND"
    )
    show: tuple[str, ...] = opt((), help="Parts to show as well.", choices=("layers", "attrs", "weights"))
    list_unbounded_dds: bool = opt(
        False, help="List the tensors of an ONNX model whose values determine the size of others."
    )
    json: bool = opt(False, help="Print an ONNX model as JSON.")
    combine_tensor_info: str = opt(
        "",
        help="Show the minimum, maximum and mean of each tensor, from the first iteration of saved outputs.",
        metavar="FILE",
    )
    save_visual: str = opt(
        "",
        help="Write the graph of an ONNX model for Model Explorer, which draws it.",
        metavar="FILE.json",
        writes=True,
    )
    errors: str = opt(
        "", help="With --save-visual: colour operators by the errors in this report of `locate`.", metavar="FILE.json"
    )
    visual: bool = opt(False, help="Draw the graph.", hidden=True)


def _model(call: Invocation) -> int:
    from polycmp.errors import UsageError

    section = call.section(InspectSection)
    if section.visual and not section.save_visual:
        raise UsageError("--visual would need a server", hint="--save-visual FILE.json; Model Explorer draws it")
    if section.errors and not section.save_visual:
        raise UsageError("--errors colours a graph", hint="add --save-visual FILE.json")
    if section.save_visual and not section.save_visual.endswith(".json"):
        raise UsageError(
            f"--save-visual writes a graph for Model Explorer, not {section.save_visual}",
            why="Netron opens the model as it is, and Model Explorer a file with the suffix .json",
            hint=f"--save-visual {section.save_visual.rpartition('.')[0] or section.save_visual}.json",
        )
    model = call.open_model()
    if section.json or section.list_unbounded_dds or section.combine_tensor_info or section.save_visual:
        return _onnx_model(call, model, section)
    _show_text(_text_of(call, model, section))
    return 0


def _text_of(call: Invocation, model: Model, section: InspectSection) -> str:
    """Return a model as the loader of its kind shows it."""
    from polycmp.errors import ModelError, OthersCode
    from polycmp.plugins import explain_kind

    readers = {item.spec.kind: (item, tools) for item, tools in call.registry.equipped(call.registry.loaders.values())}
    kind = _kind_to_show(section.display_as or model.kind, model.kind, readers)
    reader, tools = readers.get(kind, (None, None))
    if reader is None or tools is None or tools.inspect is None:
        shown = sorted(name for name, (_, tools) in readers.items() if tools.inspect is not None)
        raise ModelError(
            f"no installed loader shows {kind} models",
            why=f"shown are: {', '.join(shown) or 'none'}",
            hint=explain_kind(kind),
        )
    call.registry.require(reader)
    with OthersCode(ModelError, "cannot be shown", whose=model.path), call.registry.explained(reader):
        return tools.inspect(model.load(kind), section.show).rstrip("\n")  # a model may be a user's script


def _kind_to_show(
    name: str, model_kind: str, readers: Mapping[str, tuple[Contributed[LoaderSpec], LoaderTools]]
) -> str:
    """Return the kind that a name means: of several it is the model's own, or else that which the others start from."""
    if name in readers:
        return name
    fitting = [kind for kind, (_, tools) in readers.items() if name in tools.aliases and tools.inspect is not None]
    nearest = [kind for kind in fitting if not set(readers[kind][0].spec.consumes) & set(fitting)]
    return model_kind if model_kind in fitting else next(iter(nearest), name)


def _show_text(text: str) -> None:
    """Print text; on a terminal, where it is long, page by page with its headings in bold type."""
    import shutil
    import sys

    lines = text.splitlines()
    if not sys.stdout.isatty() or len(lines) < shutil.get_terminal_size().lines:
        echo(text)
        return
    import click

    click.echo_via_pager("\n".join(click.style(line, bold=True) if line[:4].strip() else line for line in lines))


def _onnx_model(call: Invocation, model: Model, section: InspectSection) -> int:
    """Show what only ONNX models have."""
    loader: Any = model.load("onnx")
    external = loader.external() if hasattr(loader, "external") else None
    proto = loader() if external is None else external.model
    info = _tensor_info(section.combine_tensor_info) if section.combine_tensor_info else {}
    if section.save_visual:
        from polycmp_onnx.tools.model_explorer import save_graph

        path, *data = save_graph(proto, section.save_visual, section.errors, info)
        for name in (path, *data):
            echo(visible(f"wrote {name}"))
        words = "".join(f" --node_data_paths={name}" for name in data)
        echo(visible(f"  next: pip install ai-edge-model-explorer && model-explorer {path}{words}"))
    if section.json:
        import json

        from polycmp_onnx.tools.model_json import document

        echo(json.dumps(document(proto, section.show, info, external), indent=2))
    elif not section.save_visual:
        text = _text_of(call, model, section)
        _show_text("\n".join([text, *_unbounded(proto, section), *(visible(line) for line in _figures(info))]))
    return 0


def _unbounded(proto: Any, section: InspectSection) -> list[str]:
    from polycmp_onnx.upper_bound import unbounded_tensors

    if not section.list_unbounded_dds:
        return []
    names = unbounded_tensors(proto)
    lines = [f"    {name}" for name in names] or ["    none"]
    count = f"{counted(len(names), 'tensor')} of unbounded content, which decides the size of others"
    return [visible(line) for line in [f"  {count}", *lines]]


def _tensor_info(path: str) -> dict[str, dict[str, float]]:
    """Return least, greatest and mean value by tensor, from the first iteration of the first run that was saved.

    Raises:
        FileError: It cannot be read, or holds no outputs.
    """
    import numpy as np

    from polycmp.results.files import open_runs
    from polycmp.tensors import to_numpy

    figures = {}
    for run in open_runs(path)[:1]:
        for name, tensor in dict(next(iter(run.iterations), {})).items():
            array = to_numpy(tensor)
            if array.size and array.dtype.kind not in "OSU":
                values = array.astype(np.float64)
                figures[name] = {"min": float(values.min()), "max": float(values.max()), "mean": float(values.mean())}
    return figures


def _figures(info: Mapping[str, Mapping[str, float]]) -> list[str]:
    from polycmp.report import table_text

    if not info:
        return []
    titles = next(iter(info.values()))
    rows = ([name, *(f"{value:.5g}" for value in figures.values())] for name, figures in info.items())
    return ["  Values", *(f"    {line}" for line in table_text(("tensor", *titles), rows).splitlines())]


class _InspectCommand(ModelCommand):
    """Shows a model; takes the words of earlier versions of Polygraphy, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, `--mode basic` as `--show layers`. Of any other word `--mode` begins `--model-type`."""
        return super().parse_args(ctx, _without_modes(args))


def _without_modes(words: Sequence[str]) -> list[str]:
    """Return the words with `--show` in place of `--mode`."""
    remaining_words: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        flag, equals, mode = word.partition("=")
        if flag == "--mode" and not equals:
            mode = next(iter(queue), "")
        if flag != "--mode" or mode not in _MODES:
            remaining_words.append(word)
            continue
        del queue[: not equals]
        shown = ["--show", *_MODES[mode]] if _MODES[mode] else []
        remaining_words += shown
        echo(f"--mode {mode} of earlier versions: {' '.join(shown) or 'nothing is left of it to do'}", err=True)
    return remaining_words


model_command = _InspectCommand(
    "model",
    _model,
    options=("model", "data.input_shapes", InspectSection, "log"),
    params=[model_argument(), *verbosity_params()],
    help="Show the inputs and outputs of MODEL and, with --show, its layers."
    + examples("polycmp inspect model model.onnx --show layers attrs", "polycmp inspect model model.onnx --json"),
)


def _sparsity(call: Invocation) -> int:
    import onnx

    from polycmp_onnx.weights import is_sparse, summed_weights

    proto = read_onnx(open_onnx(call))
    sparsity = {
        weight.tensor.name: is_sparse(onnx.numpy_helper.to_array(weight.tensor), weight.axis)
        for weight in summed_weights(proto)
    }
    for name, sparse in sparsity.items():
        echo(visible(f"{'2:4 sparse' if sparse else 'dense':<10}  {name}"))
    echo(f"{sum(sparsity.values())} of {len(sparsity)} weights that could be are 2:4 sparse")
    return 0


sparsity_command = BackendCommand(
    "sparsity",
    _sparsity,
    options=("model", ReadSection, "log"),
    plugins=(),
    params=[model_argument(), *verbosity_params()],
    help="Show which weights of MODEL are 2:4 sparse: two of every four values that are summed are zero."
    + examples("polycmp inspect sparsity model.onnx"),
)
