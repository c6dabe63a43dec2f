"""What the report of this package can do: it writes a plan down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import ReportTools

if TYPE_CHECKING:
    from polycmp.builtin.api.plugin import ScriptOptions
    from polycmp.plan import Plan
    from polycmp.plugins import Registry


class ScriptTools(ReportTools):
    """A plan as a script, in place of the run."""

    def instead(self, options: ScriptOptions, plan: Plan, registry: Registry) -> None:
        """Write or print the script."""
        from polycmp.builtin.api.script import write_script

        write_script(options, plan, registry)
