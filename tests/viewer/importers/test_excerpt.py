from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from viewer.base.errors import Cancelled, InputError
from viewer.base.work import CancelToken
from viewer.importers.excerpt import AFTER, BEFORE, excerpt
from viewer.store.cache import stamp_of

TEXT = b"[" + b"".join(b'{"n":%d},' % i for i in range(500_000)) + b"\xff]"


@pytest.mark.parametrize("packed", [False, True])
def test_the_text_around_a_byte(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(gzip.compress(TEXT, 1) if packed else TEXT)
    stamp = stamp_of(path)
    for offset in (0, 1, BEFORE, 3_000_000, (2 << 20) - 1, 2 << 20, (2 << 20) + BEFORE, len(TEXT) - 2):
        part = excerpt(stamp, offset, CancelToken())
        assert part.before.encode() == TEXT[max(0, offset - BEFORE) : offset]
        assert part.after == TEXT[offset : offset + AFTER].decode("utf-8", "replace")
        assert (part.begins, part.ends) == (offset <= BEFORE, offset + AFTER >= len(TEXT))
    stopped = CancelToken()
    stopped.cancel()
    if packed:
        with pytest.raises(Cancelled):
            excerpt(stamp, 3_000_000, stopped)


def test_a_source_that_is_gone_or_changed_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(TEXT[:100])
    stamp = stamp_of(path)
    path.write_bytes(TEXT[:90])
    with pytest.raises(InputError, match="changed since it was imported"):
        excerpt(stamp, 5, CancelToken())
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        excerpt(stamp, 5, CancelToken())
