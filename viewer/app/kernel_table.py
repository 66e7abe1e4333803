"""Finds out what ``resources/kernels.toml`` must say: ``python -m viewer.app.kernel_table [--write]``.

Everything that a first start needs is run once; what was compiled for it, and for which types, is the table.
"""

from __future__ import annotations

import dis
import gc
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from viewer.app.warm_up import TINY, warm_engine, warm_lanes
from viewer.jit.table import Entry, load_table, word_of

TARGET: Final = Path(__file__).resolve().parents[2] / "resources" / "kernels.toml"
HEAD: Final = "# Written by: python -m viewer.app.kernel_table --write\n"


def kernels() -> dict[str, Any]:
    """All kernels that are imported, by name."""
    from numba.core.dispatcher import Dispatcher

    found: list[Any] = [
        o for o in gc.get_objects() if isinstance(o, Dispatcher) and o.__module__.startswith("viewer.jit.")
    ]
    return {f"{o.__module__.rsplit('.', 1)[1]}.{o.__name__}": o for o in found}


def survey() -> list[Entry]:
    """Run everything; the entries of what was compiled, callees first, and first what the longest chain waits for."""
    groups: dict[str, str] = {}
    for group, run in (("read", _read), ("lanes", warm_lanes), ("figures", warm_engine)):
        run()
        for name, loop in kernels().items():
            if loop.signatures:
                groups.setdefault(name, group)
    loops = kernels()
    names = {loop: name for name, loop in loops.items()}
    needs = {name: sorted(_callees(loops[name], names) & groups.keys()) for name in groups}
    size = {name: len(list(dis.get_instructions(loops[name].py_func))) for name in groups}
    callers: dict[str, list[str]] = {name: [n for n in groups if name in needs[n]] for name in groups}

    def rest(name: str) -> int:
        return size[name] + max((rest(c) for c in callers[name]), default=0)

    order = {"read": 0, "lanes": 1, "figures": 2}
    ordered = sorted(groups, key=lambda n: (order[groups[n]], -rest(n), n))
    return [Entry(n, groups[n], tuple(word_of(t) for t in loops[n].signatures[0]), tuple(needs[n])) for n in ordered]


def _read() -> None:
    from viewer.importers.opening import JobOpener
    from viewer.store.cache import Cache

    with tempfile.TemporaryDirectory(prefix="rankscope-table-") as folder:
        path = Path(folder) / "tiny.json"
        path.write_bytes(TINY)
        JobOpener([path], cache=Cache(Path(folder) / "cache"), workers=1).open()


def _callees(loop: Any, names: dict[Any, str]) -> set[str]:
    """What a kernel calls; ``_name = apart(name)`` stands for ``name``."""
    space = loop.py_func.__globals__
    found = set()
    for word in loop.py_func.__code__.co_names:
        for spelling in (word, word.lstrip("_")):
            value = space.get(spelling)
            if value is not loop and type(value) is type(loop) and value in names:
                found.add(names[value])
    return found


def as_text(entries: list[Entry]) -> str:
    """The table as TOML."""
    blocks = [HEAD]
    for e in entries:
        needs = f'needs = "{" ".join(e.needs)}"\n' if e.needs else ""
        blocks.append(f'\n[[kernel]]\nname = "{e.name}"\ngroup = "{e.group}"\ntypes = "{" ".join(e.types)}"\n{needs}')
    return "".join(blocks)


def main(words: list[str]) -> int:
    """Write the table, or say whether the shipped one holds (exit status 1 if not)."""
    entries = survey()
    if "--write" in words:
        TARGET.write_text(as_text(entries), encoding="utf-8")
        return 0
    several = [name for name, loop in kernels().items() if len(loop.signatures) > 1]
    stale = sorted({e.name for e in set(entries) ^ set(load_table())})
    sys.stdout.write(f"several: {' '.join(several)}\nstale: {' '.join(stale)}\n")
    return int(bool(several or stale))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
