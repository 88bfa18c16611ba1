"""The program's numbers are those that were frozen: tests/golden/README.md."""

from __future__ import annotations

import pytest
from golden import freeze

GROUPS = [(part, group) for part, held in freeze.PARTS.items() for group in held.load()]


@pytest.mark.parametrize("part, group", GROUPS, ids=[": ".join(names) for names in GROUPS])
def test_nothing_has_moved(part, group):
    changed = freeze.PARTS[part].check(group)
    assert not changed, "\n".join(changed)


def test_differences_are_seen():
    old = {"word": "own", "values": [1.0, 2], "exact": True, "digits": "0.5" + "0" * 28}
    assert not [*freeze.differences(old, {**old, "values": [1 + 1e-10, 2]}, {})]
    for name, value in [("word", "other"), ("values", [1 + 1e-8, 2]), ("values", [1.0]), ("values", [1.0, None]),
                        ("exact", 1), ("digits", "0.50000000000000000000000001000"), ("more", 1)]:
        assert len([*freeze.differences(old, {**old, name: value}, {})]) == 1, name
    assert not [*freeze.differences(old, {**old, "values": [1.01, 2]}, {"values": [0, 0.02]})]
    assert [*freeze.differences({"values": [1.0]}, {}, {})] == [".values: has gone"]
