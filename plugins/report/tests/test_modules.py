"""Tensors of modules: as many groups as there is room for."""

from __future__ import annotations

from polycmp_report.page.modules import groups_of


def test_groups_are_as_fine_as_there_is_room_for():
    deep = [f"/net/block{i}/conv{j}/out" for i in range(4) for j in range(3)]
    assert [group.name for group in groups_of(deep)] == ["conv0", "conv1", "conv2"] * 4
    many = [f"/net/block{i}/conv{j}/out" for i in range(4) for j in range(30)]
    assert [(group.name, group.first, group.last) for group in groups_of(many)] == [
        ("block0", 0, 29),
        ("block1", 30, 59),
        ("block2", 60, 89),
        ("block3", 90, 119),
    ]
    assert groups_of(["a", "b", "c"]) == groups_of([]) == groups_of(["/m/a", "/m/b"]) == []
