"""An import that dies at a chosen moment of writing leaves nothing that the next opening would take for whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.viewer.importers.texts import kernel, open_one, write_json
from viewer.store.cache import Cache, stamp_of

STAGES = (
    "viewer.importers.single.write_tables",  # before the first table
    "viewer.importers.single.write_meta",  # tables without their meta.json
    "viewer.store.cache.write_sums",  # all but the sums
    "viewer.store.cache.os.replace",  # complete, not yet renamed
    "viewer.store.cache.Cache.evict",  # renamed
)
_SERVER = """
import importlib, os, signal, sys
from pathlib import Path
from viewer.importers.opening import JobOpener
from viewer.store.cache import Cache
import viewer.importers.single
path, *rest = sys.argv[1:]
for cache, stage in zip(rest[::2], rest[1::2]):
    child = os.fork()
    if not child:
        parts = stage.split(".")
        place = importlib.import_module(".".join(parts[:3]))
        for part in parts[3:-1]:
            place = getattr(place, part)
        setattr(place, parts[-1], lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        JobOpener([Path(path)], cache=Cache(Path(cache))).open()
        os._exit(0)
    print(os.WTERMSIG(os.waitpid(child, 0)[1]))
"""


def test_dying_at_any_stage_of_writing_breaks_nothing(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json.gz", [kernel(f"k{i}", i, 1, note=i) for i in range(50)])
    truth = open_one(tmp_path, path).slices.dur_ns.tolist()
    caches = [tmp_path / str(i) / "cache" for i in range(len(STAGES))]
    words = [w for pair in zip(map(str, caches), STAGES, strict=True) for w in pair]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SERVER, str(path), *words], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["9"] * len(STAGES)
    for folder, stage in zip(caches, STAGES, strict=True):
        whole = Cache(folder).lookup(stamp_of(path)) is not None
        assert whole == stage.endswith("evict")
        assert not Cache(folder).is_damaged(stamp_of(path))
        trace = open_one(folder.parent, path)
        assert trace.slices.dur_ns.tolist() == truth
        assert [f.code for f in trace.meta.findings if f.code.startswith("cache")] == []
