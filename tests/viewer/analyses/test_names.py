from __future__ import annotations

import pytest

from viewer.analyses import names


def test_a_name_is_asked_once_and_a_long_one_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "LONGEST_REMEMBERED", 3)
    asked: list[str] = []

    @names.remembered
    def upper(name: str) -> str:
        """Doc."""
        asked.append(name)
        return name.upper()

    assert [upper(n) for n in ("ab", "ab", "long", "cd", "long")] == ["AB", "AB", "LONG", "CD", "LONG"]
    assert asked == ["ab", "long", "cd", "long"]
    assert upper.__doc__ == "Doc."
