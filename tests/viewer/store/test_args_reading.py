from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.store import args
from viewer.store.args import ArgsText
from viewer.store.meta import SourceStamp

CONTENT = bytes(n % 251 for n in range(4000))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("args") / "source.json"
    path.write_bytes(CONTENT)
    return path


@given(
    st.lists(st.tuples(st.integers(-1, 4100), st.integers(0, 300)), max_size=30),
    st.integers(0, 400),
    st.integers(1, 900),
    st.booleans(),
)
def test_places_read_together_are_what_each_alone_is(
    source: Path, places: list[tuple[int, int]], near: int, at_once: int, ascending: bool
) -> None:
    """Any order, overlaps, twice the same, beyond the end."""
    stat = source.stat()
    text = ArgsText.of_source(SourceStamp(str(source), stat.st_size, stat.st_mtime_ns, ""))
    places = sorted(places) if ascending else places
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(args, "NEAR", near)
        patch.setattr(args, "MOST_AT_ONCE", at_once)
        found = text.read_many([o for o, _ in places], [n for _, n in places])
    assert found == [CONTENT[o : o + n] if o >= 0 else b"" for o, n in places]
    assert not text.problem
