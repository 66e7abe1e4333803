"""Finds out what ``resources/kernels.toml`` must say: ``python -m viewer.app.kernel_table [--write]``.

Everything that a first start needs is run once; what was compiled for it, and for which types, is the table. Written
from an empty folder of compiled code: of kernels that are loaded, those inside are not seen.
"""

from __future__ import annotations

import ast
import dis
import os
import sys
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from viewer.app.warm_up import TINY, warm_engine, warm_lanes
from viewer.jit.config import KERNELS
from viewer.jit.table import GROUPS, Entry, load_table, word_of

TARGET: Final = Path(__file__).resolve().parents[2] / "resources" / "kernels.toml"
HEAD: Final = "# Written by: python -m viewer.app.kernel_table --write\n"


def kernels() -> dict[str, Any]:
    """All kernels that are imported, by name."""
    found: list[Any] = [k for k in KERNELS if k.__module__.startswith("viewer.jit.")]
    return {f"{k.__module__.rsplit('.', 1)[1]}.{k.__name__}": k for k in found}


def run_all() -> dict[str, str]:
    """Run everything; the group of every kernel that was compiled or loaded for it."""
    groups: dict[str, str] = {}
    for group, run in zip(GROUPS, (_read, warm_lanes, warm_engine), strict=True):
        run()
        for name, loop in kernels().items():
            if loop.signatures:
                groups.setdefault(name, group)
    return groups


def survey() -> list[Entry]:
    """The entries of what is compiled: callees first, and first what the longest chain waits for."""
    groups = run_all()
    loops = kernels()
    needs = {name: sorted(callees(loops[name], loops) & groups.keys()) for name in groups}
    size = {name: len(list(dis.get_instructions(loops[name].py_func))) for name in groups}
    callers: dict[str, list[str]] = {name: [n for n in groups if name in needs[n]] for name in groups}

    def rest(name: str) -> int:
        return size[name] + max((rest(c) for c in callers[name]), default=0)

    ordered = sorted(groups, key=lambda n: (GROUPS.index(groups[n]), -rest(n), n))
    return [_entry(n, groups[n], loops, needs[n]) for n in ordered]


def stale() -> list[str]:
    """Kernels for which the shipped table does not hold.

    A kernel inside others that are loaded is not seen with them, perhaps later, when one that needs it is compiled: the
    table may name an earlier group.
    """
    table = {e.name: e for e in load_table()}
    groups = run_all()
    loops = kernels()
    now = {n: _entry(n, groups[n], loops, sorted(callees(loops[n], loops) & table.keys())) for n in groups}
    return sorted(name for name, entry in now.items() if name not in table or not _holds(table[name], entry))


def _holds(told: Entry, seen: Entry) -> bool:
    earlier = GROUPS.index(told.group) <= GROUPS.index(seen.group)
    return earlier and replace(told, group=seen.group) == seen


def _entry(name: str, group: str, loops: dict[str, Any], needs: list[str]) -> Entry:
    types = tuple(word_of(t) for t in loops[name].signatures[0])
    return Entry(name, group, types, tuple(needs), name in inner(loops) - called())


def inner(loops: dict[str, Any]) -> frozenset[str]:
    """Kernels that others call."""
    return frozenset(name for loop in loops.values() for name in callees(loop, loops))


@cache
def called() -> frozenset[str]:
    """Kernels that code which is no kernel names, as "file.function": by imports elsewhere, inside functions beside."""
    root = Path(__file__).resolve().parents[1]
    found: set[str] = set()
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        beside = path.parent == root / "jit"
        steps = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        files = {a.asname or a.name: a.name for s in steps if s.module == "viewer.jit" for a in s.names}
        come_from = {
            a.asname or a.name: f"{s.module.rpartition('.')[2]}.{a.name}"
            for s in steps
            if s.module and s.module.startswith("viewer.jit.")
            for a in s.names
        }
        if not beside:
            found.update(come_from.values())
            found.update(
                f"{files[n.value.id]}.{n.attr}"
                for n in ast.walk(tree)
                if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id in files
            )
            continue
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and not any(_is_kernel(d) for d in function.decorator_list):
                names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
                found.update(come_from.get(n, f"{path.stem}.{n}") for n in names)
    return frozenset(found)


def _is_kernel(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id == "kernel"


def _read() -> None:
    from viewer.importers.opening import JobOpener
    from viewer.store.cache import Cache

    with tempfile.TemporaryDirectory(prefix="rankscope-table-") as folder:
        path = Path(folder) / "tiny.json"
        path.write_bytes(TINY)
        JobOpener([path], cache=Cache(Path(folder) / "cache"), workers=1).open()


def callees(loop: Any, loops: dict[str, Any]) -> set[str]:
    """What a kernel calls; ``_name = apart(name)`` stands for ``name``."""
    names = {other: name for name, other in loops.items()}
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
        part = "part = true\n" if e.part else ""
        words = f'name = "{e.name}"\ngroup = "{e.group}"\ntypes = "{" ".join(e.types)}"\n'
        blocks.append(f"\n[[kernel]]\n{words}{needs}{part}")
    return "".join(blocks)


def main(words: list[str]) -> int:
    """Write the table, or say what of the shipped one does not hold (exit status 1 if anything)."""
    if "--write" in words:
        with tempfile.TemporaryDirectory(prefix="rankscope-table-") as folder:
            os.environ["NUMBA_CACHE_DIR"] = folder
            TARGET.write_text(as_text(survey()), encoding="utf-8")
        return 0
    old = stale()
    several = [name for name, loop in kernels().items() if len(loop.signatures) > 1]
    sys.stdout.write(f"several: {' '.join(several)}\nstale: {' '.join(old)}\n")
    return int(bool(several or old))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
