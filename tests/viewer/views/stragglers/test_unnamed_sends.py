"""Where sends and receives name no ranks nobody is said to be on time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ranks import RankJob
from viewer.app.clocks import settle_clocks
from viewer.views.stragglers.words import verdict


class Unnamed(RankJob):
    """Sends and receives state no peer."""

    def _about(self, members: tuple[int, ...], purpose: str, **more: Any) -> dict[str, Any]:
        return super()._about(members, purpose, **{k: v for k, v in more.items() if k not in ("src", "dst")})


@pytest.mark.parametrize(("make", "kind"), [(RankJob, "none"), (Unnamed, "unknown")])
def test_nobody_late_is_said_only_where_it_can_be_told(make: type[RankJob], kind: str) -> None:
    told = verdict(settle_clocks(make(ranks=6, steps=12).session(), "auto"))
    assert told.kind == kind
    assert ("do not say between which ranks" in told.text) == (kind == "unknown")


def test_who_is_late_is_named_all_the_same() -> None:
    told = verdict(settle_clocks(Unnamed(ranks=6, steps=12, late_ns={3: 4_000_000}).session(), "auto"))
    assert (told.kind, told.group) == ("straggler", 3)
