"""The parts of the HTML report: elements that escape their text, drawings, sections, style and script."""
