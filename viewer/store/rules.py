"""The rule tables: what a category means (role) and which class a piece of GPU work has, each with its reason.

Rules are ordered TOML tables in ``resources/rules``; the first that matches wins, and figures show which one it was.
A user's own file is put before the shipped one.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files

from viewer.base.ids import Paint, Role

_ROLE_PAINT = {
    Role.GPU_WORK: Paint.COMPUTE,
    Role.GPU_MARK: Paint.ANNOTATION,
    Role.SYNC: Paint.SYNC,
    Role.RUNTIME: Paint.RUNTIME,
    Role.OPERATOR: Paint.OPERATOR,
    Role.PYTHON: Paint.PYTHON,
    Role.ANNOTATION: Paint.ANNOTATION,
    Role.OVERHEAD: Paint.OVERHEAD,
    Role.OTHER: Paint.OTHER,
}


@dataclass(frozen=True, slots=True)
class ClassRule:
    """One class rule: GPU work whose category and name match has class ``paint``. ``why`` is shown to the user."""

    id: str
    paint: Paint
    why: str
    name: re.Pattern[str] | None = None
    cat: str | None = None
    fused: bool = False


@dataclass(frozen=True)
class RuleTable:
    """Categories (lower case) to roles, and the ordered class rules."""

    roles: dict[str, tuple[Role, str]]
    classes: tuple[ClassRule, ...]
    hash: str
    _memo: dict[tuple[str, str], ClassRule] = field(default_factory=dict, compare=False, repr=False)

    def role(self, cat: str) -> Role:
        """Role of a category, compared without regard to case; OTHER when no rule names it."""
        found = self.roles.get(cat.lower())
        return found[0] if found else Role.OTHER

    def class_of(self, cat: str, name: str) -> ClassRule:
        """The first class rule that matches this piece of GPU work."""
        key = (cat, name)
        rule = self._memo.get(key)
        if rule is None:
            low = cat.lower()
            rule = next(
                r
                for r in self.classes
                if (r.cat is None or r.cat == low) and (r.name is None or r.name.search(name) is not None)
            )
            self._memo[key] = rule
        return rule

    def paint(self, cat: str, name: str) -> Paint:
        """What to draw the slice as; for GPU work its class."""
        role = self.role(cat)
        return self.class_of(cat, name).paint if role is Role.GPU_WORK else _ROLE_PAINT[role]


COLLECTIVE_METADATA = ClassRule("collective-metadata", Paint.COMM, "the trace's own 'Collective name' says so")
_FALLBACK = ClassRule("default-compute", Paint.COMPUTE, "GPU work that no other rule names is compute")


def parse_rules(categories: str, classes: str) -> RuleTable:
    """Build a table from the two TOML texts; ValueError names a bad entry."""
    roles = {
        cat.lower(): (Role[entry["role"].upper()], entry["why"]) for cat, entry in tomllib.loads(categories).items()
    }
    ordered = []
    for entry in tomllib.loads(classes)["rule"]:
        try:
            pattern = re.compile(entry["name"], re.IGNORECASE) if "name" in entry else None
        except re.error as error:
            raise ValueError(f"class rule {entry['id']!r}: {error}") from None
        ordered.append(
            ClassRule(
                id=entry["id"],
                paint=Paint[entry["class"].upper()],
                why=entry["why"],
                name=pattern,
                cat=entry["cat"].lower() if "cat" in entry else None,
                fused=bool(entry.get("fused", False)),
            )
        )
    digest = hashlib.sha256((categories + "\0" + classes).encode()).hexdigest()[:16]
    return RuleTable(roles, (*ordered, _FALLBACK), digest)


@lru_cache(maxsize=1)
def shipped_rules() -> RuleTable:
    """The rules in resources/rules."""
    folder = files("resources") / "rules"
    return parse_rules(
        (folder / "categories.toml").read_text(encoding="utf-8"),
        (folder / "classes.toml").read_text(encoding="utf-8"),
    )
