"""Pictures of the error: heat maps, and the error against the value. Needs matplotlib, which is imported when used."""

from polycmp.plots.draw import ErrorPlots

__all__ = ["ErrorPlots"]
