"""A backend that runs toys as the toy box does, and says other things of itself: a plugin that tests write."""

from __future__ import annotations

LIGHT = """\
from polycmp.spec import RunnerSpec, RunnerTools, Switch, hookimpl
from toybox.plugin import RunnerOptions


@hookimpl
def polycmp_runners():
    yield RunnerSpec(
        "forge", "Toys", "toybox.runner:make_runner", RunnerOptions, accepts=("toy",), tools="forge_light:Tools"
    )


class Tools(RunnerTools):
"""


def install_forge(site, **tools):
    """Install the backend `forge`.

    Args:
        site: The folder of distributions.
        tools: What it says of itself: attributes of its tools, as source text.
    """
    lines = "".join(f"    {name} = {text}\n" for name, text in tools.items())
    site.install("fake-forge", {"forge": "forge_light"}, {"forge_light.py": LIGHT + lines})
