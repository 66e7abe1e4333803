"""The rules that say what a block of memory is for (resources/rules/memory.toml)."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from viewer.base.allocator import Category

LIVES: Final = ("resident", "kept", "outlives", "brief")
NO_PHASE: Final = "none"


@dataclass(frozen=True, slots=True)
class BlockRule:
    """One rule; empty conditions hold always. ``tags`` and ``phases`` are numbers (of phases, 0 is none)."""

    id: str
    category: Category
    why: str
    tags: tuple[int, ...] = ()
    phases: tuple[int, ...] = ()
    lives: tuple[int, ...] = ()
    training: bool | None = None
    private: bool | None = None
    absent: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryRules:
    """Patterns of tags and of phases (phase k is pattern k - 1), and the ordered rules."""

    tags: tuple[tuple[str, re.Pattern[str]], ...]
    phases: tuple[tuple[str, re.Pattern[str]], ...]
    rules: tuple[BlockRule, ...]

    def tag(self, name: str) -> int:
        """The number of a tag, -1 when there is none of that name."""
        names = [t for t, _ in self.tags]
        return names.index(name) if name in names else -1

    def phase(self, name: str) -> int:
        """The number of a phase, -1 when there is none of that name."""
        names = [p for p, _ in self.phases]
        return names.index(name) + 1 if name in names else -1


def parse_memory_rules(text: str) -> MemoryRules:
    """Rules from TOML. Raises ValueError, KeyError."""
    given = tomllib.loads(text)
    tags = tuple((t["id"], re.compile(t["frame"], re.IGNORECASE)) for t in given.get("tag", ()))
    phases = tuple((p["id"], re.compile(p["frame"], re.IGNORECASE)) for p in given.get("phase", ()))
    number_of_tag = {name: i for i, (name, _) in enumerate(tags)}
    number_of_phase = {NO_PHASE: 0} | {name: i + 1 for i, (name, _) in enumerate(phases)}

    def rule(r: dict[str, Any]) -> BlockRule:
        unknown = set(r) - {"id", "category", "why", "tag", "phase", "life", "training", "private", "absent"}
        if unknown:
            raise ValueError(f"rule {r.get('id')!r}: unknown conditions {sorted(unknown)}")
        return BlockRule(
            r["id"],
            Category[r["category"].upper()],
            r["why"],
            tuple(number_of_tag[t] for t in r.get("tag", ())),
            tuple(number_of_phase[p] for p in r.get("phase", ())),
            tuple(LIVES.index(x) for x in r.get("life", ())),
            r.get("training"),
            r.get("private"),
            tuple(number_of_tag[t] for t in r.get("absent", ())),
        )

    return MemoryRules(tags, phases, tuple(rule(r) for r in given.get("rule", ())))


@lru_cache(maxsize=1)
def shipped_memory_rules() -> MemoryRules:
    """The rules that come with the application."""
    return parse_memory_rules((files("resources") / "rules" / "memory.toml").read_text(encoding="utf-8"))
