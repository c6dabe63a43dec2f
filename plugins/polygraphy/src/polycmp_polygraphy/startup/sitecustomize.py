"""Have an interpreter that a program starts answer `import polygraphy` as the program's own does.

Python imports this module when it starts. It may be another Python, in another environment: nothing is imported here
that is not loaded yet, and where polycmp is not installed everything stays as it was.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as `typing` has it, which the program may not need
if TYPE_CHECKING:
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes longer than all the rest


class _Late:
    """Puts the finder of `polycmp_polygraphy` in its place when somebody asks for Polygraphy."""

    answers_polygraphy = True

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return what the finder says of a module of Polygraphy; None for every other."""
        if name.partition(".")[0] != "polygraphy":
            return None
        finder = self._finder()
        return None if finder is None else finder.find_spec(name, path, target)

    def find_distributions(self, context: Any = None) -> Any:
        """Return what the finder says of a distribution; none of any other."""
        finder = self._finder() if getattr(context, "name", None) == "polygraphy" else None
        return [] if finder is None else finder.find_distributions(context)

    def _finder(self) -> Any:
        sys.meta_path.remove(self)
        try:
            from polycmp_polygraphy._answering import answer
        except ImportError:  # another environment
            return None
        answer()
        return sys.meta_path[0]


def _give_way() -> None:
    """Import the module `sitecustomize` that this one hides, if there is one."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]  # noqa: PTH100
    ours = sys.modules.pop("sitecustomize")
    try:
        __import__("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = ours


sys.meta_path.insert(0, _Late())
_give_way()
