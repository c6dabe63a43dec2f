"""Lines of the keys of a suite file."""

from __future__ import annotations

from polycmp_suite.suitefile.lines import find_lines


def test_lines_of_keys_whatever_stands_between_them():
    text = '''# [[case]] in a comment
name = "a # [[case]] b"
[defaults]
text = """
[[case]]
key = 1 \\"""
"""
[[case]]
list = [
  "[[case]]",  # key = 3
]
"quoted" = 'x'
[case.matrix]
atol = [1,
  2]
other = 1
[[case]]
last = {a = 1}  # one of several,
"'odd'.key" = 1
[case."x.y"]
z = 1
'''
    lines = find_lines(text)
    assert lines.top.keys == {"name": 2}
    assert lines.top.tables["defaults"].keys == {"text": 4}
    first, second = lines.arrays["case"]
    assert (first.line, first.keys, second.line) == (8, {"list": 9, "quoted": 12}, 17)
    assert second.keys == {"last": 18, "'odd'.key": 19}
    assert second.of("x.y", "z") == 21
    assert first.of("matrix", "other") == 16
    assert first.of("nowhere") == 8
