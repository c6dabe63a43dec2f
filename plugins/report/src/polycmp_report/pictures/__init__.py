"""Pictures of the error: heat maps, and the error against the value. Needs matplotlib, which is imported when used."""

from polycmp_report.pictures.draw import ErrorPlots, draw_pictures

__all__ = ["ErrorPlots", "draw_pictures"]
