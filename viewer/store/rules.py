"""The rule tables: what a category means (role) and which class a piece of GPU work has, each with its reason.

Rules are ordered TOML tables in ``resources/rules``; the first that matches wins, and figures show which one it was.
A user's own file is put before the shipped one.
"""

from __future__ import annotations

import hashlib
import re
import threading
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from viewer.base.errors import InputError, UsageError
from viewer.base.ids import GPU_CLASSES, Paint, Role
from viewer.store.rule_batch import NameRules, heads
from viewer.store.small_file import read_small
from viewer.store.toml_text import read_toml

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


_USUAL: Final = {
    "runtime": "cuda_runtime",
    "driver": "cuda_driver",
    "sync": "cuda_sync",
    "memcpy": "gpu_memcpy",
    "memset": "gpu_memset",
    "user_annotation": "gpu_user_annotation",
    "profiler_range": "cuda_profiler_range",
}
_MAKERS: Final = re.compile(
    rf"(?:cuda|dcu|gcu|gpu|hip|hpu|maca|mlu|mtia|musa|npu|ppu|privateuse1|rocm|supa|xpu)_({'|'.join(_USUAL)})"
)
"""Words of makers: other devices' names could be anything, and a copy that counts as their work is what a file says."""


@dataclass(frozen=True, slots=True)
class ClassRule:
    """One class rule: GPU work whose category and name match has class ``paint``.

    ``why`` is shown to the user. ``cats`` are lower case, empty for every category; ``name`` is searched in the name,
    None for every name. ``fused`` marks kernels that compute and communicate at once.
    """

    id: str
    paint: Paint
    why: str
    name: re.Pattern[str] | None = None
    cats: tuple[str, ...] = ()
    fused: bool = False

    def matches(self, cat: str, name: str) -> bool:
        """Whether the rule is for GPU work of this (lower case) category and name."""
        return (not self.cats or cat in self.cats) and (self.name is None or self.name.search(name) is not None)


@dataclass(frozen=True)
class RuleTable:
    """Categories (lower case) to roles, and the ordered class rules."""

    roles: dict[str, tuple[Role, str]]
    classes: tuple[ClassRule, ...]
    hash: str
    _memo: dict[tuple[str, str], ClassRule] = field(default_factory=dict, compare=False, repr=False)
    _known: dict[tuple[str, str], int] = field(default_factory=dict, compare=False, repr=False)
    _batches: dict[tuple[int, ...], NameRules] = field(default_factory=dict, compare=False, repr=False)
    _lock: Any = field(default_factory=threading.Lock, compare=False, repr=False)

    def spelling(self, cat: str) -> str:
        """The category that the tables know: in lower case, and a maker's own word replaced by the usual one.

        Makers of devices ship profilers of PyTorch in which their word stands for "cuda" or "gpu": mlu_memcpy.
        """
        low = cat.lower()
        if low in self.roles or not (found := _MAKERS.fullmatch(low)) or any(low in r.cats for r in self.classes):
            return low
        return _USUAL[found[1]]

    def role(self, cat: str) -> Role:
        """Role of a category, compared without regard to case; OTHER when no rule names it."""
        found = self.roles.get(self.spelling(cat))
        return found[0] if found else Role.OTHER

    def class_of(self, cat: str, name: str) -> ClassRule:
        """The first class rule that matches this piece of GPU work."""
        key = (cat, name)
        rule = self._memo.get(key)
        if rule is None:
            low, head = self.spelling(cat), name[:MOST_NAME]
            rule = next(r for r in self.classes if r.matches(low, head))
            if len(self._memo) < MOST_KNOWN:
                self._memo[key] = rule
        return rule

    def classes_of(self, cat: str, names: pa.LargeStringArray) -> NDArray[np.int32]:
        """Index into ``classes`` of the first rule for each name of a category; as :meth:`class_of`, for many."""
        if len(names) > MOST_ASKED:
            return self._classes_of(cat, names)
        # Files of one job have the same few names: the patterns see each once.
        texts = names.to_pylist()
        found = {text: self._known.get((cat, text), -1) for text in texts}
        new = [text for text, number in found.items() if number < 0]
        if new:
            numbers = self._classes_of(cat, pa.array(new, pa.large_string())).tolist()
            for text, number in zip(new, numbers, strict=True):
                found[text] = number
                if len(self._known) < MOST_KNOWN and len(text) <= MOST_NAME:
                    self._known[cat, text] = number
        return np.array([found[text] for text in texts], np.int32)

    def _classes_of(self, cat: str, names: pa.LargeStringArray) -> NDArray[np.int32]:
        low = self.spelling(cat)
        asked = tuple(i for i, r in enumerate(self.classes) if not r.cats or low in r.cats)
        with self._lock:
            if asked not in self._batches:
                self._batches[asked] = NameRules([self.classes[i].name for i in asked])
            batch = self._batches[asked]
        return np.array(asked, np.int32)[batch.first(heads(names, MOST_NAME))]

    def paints_of(self, cat: str, names: pa.LargeStringArray) -> NDArray[np.uint8]:
        """As :meth:`paint`, for many names of one category."""
        role = self.role(cat)
        if role is not Role.GPU_WORK:
            return np.full(len(names), _ROLE_PAINT[role], np.uint8)
        return np.array([r.paint for r in self.classes], np.uint8)[self.classes_of(cat, names)]

    def paint(self, cat: str, name: str) -> Paint:
        """What to draw the slice as; for GPU work its class."""
        role = self.role(cat)
        return self.class_of(cat, name).paint if role is Role.GPU_WORK else _ROLE_PAINT[role]


MOST_ASKED: Final = 4_096
"""Of more names than these at once none is remembered."""
MOST_KNOWN: Final = 100_000
"""Names whose class is remembered one by one."""
MAX_BYTES: Final = 1 << 20
"""Of a user's file of rules."""
MOST_NAME: Final = 4_096
"""Longer names are matched by their first characters: a hostile name must not hold a regular expression up."""

COLLECTIVE_METADATA = ClassRule("collective-metadata", Paint.COMM, "the trace's own 'Collective name' says so")
_FALLBACK = ClassRule("default-compute", Paint.COMPUTE, "GPU work that no other rule names is compute")


_CLASSES = {paint.name.lower(): paint for paint in GPU_CLASSES}
_KEYS = {"id", "class", "why", "name", "cat", "fused"}


def parse_rules(categories: str, classes: str, user: str = "") -> RuleTable:
    """Build a table from TOML texts; the rules of ``user`` are asked first. ValueError names a bad entry."""
    roles = {
        cat.lower(): (Role[entry["role"].upper()], entry["why"]) for cat, entry in tomllib.loads(categories).items()
    }
    own = _class_rules(user)
    shipped = _class_rules(classes)
    digest = hashlib.sha256("\0".join((categories, classes, user)).encode()).hexdigest()[:16]
    return RuleTable(roles, (*own, *shipped, _FALLBACK), digest)


def _class_rules(text: str) -> list[ClassRule]:
    document = read_toml(text)
    unknown = sorted(set(document) - {"rule"})
    if unknown:
        raise ValueError(f"{unknown[0]!r} is unknown: write [[rule]] tables")
    entries = document.get("rule", [])
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise ValueError("rules are written as [[rule]] tables")
    rules: list[ClassRule] = []
    for number, entry in enumerate(entries, 1):
        rule = _class_rule(number, entry)
        if any(rule.id == other.id for other in rules):
            raise ValueError(f"rule {rule.id!r}: the id is used twice")
        rules.append(rule)
    return rules


def _class_rule(number: int, entry: dict[str, Any]) -> ClassRule:
    id_ = entry.get("id")
    if not isinstance(id_, str) or not id_:
        raise ValueError(f"rule number {number}: it needs an id (a text)")
    where = f"rule {id_!r}"
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        raise ValueError(f"{where}: {unknown[0]!r} is unknown; a rule has id, class, why, name, cat and fused")
    paint = _CLASSES.get(str(entry.get("class", "")).lower())
    if paint is None:
        raise ValueError(f"{where}: class must be one of {', '.join(sorted(_CLASSES))}")
    why = entry.get("why", "")
    if not isinstance(why, str) or not why:
        raise ValueError(f"{where}: it needs a why (a text)")
    name, cat = entry.get("name"), entry.get("cat")
    cats = [cat] if isinstance(cat, str) else cat
    if cats is not None and not (isinstance(cats, list) and cats and all(isinstance(c, str) for c in cats)):
        raise ValueError(f"{where}: cat must be a category or a list of them")
    if name is None and cats is None:
        raise ValueError(f"{where}: it needs a name or a cat, or it would match everything")
    if name is not None and not isinstance(name, str):
        raise ValueError(f"{where}: name must be a text (a regular expression)")
    fused = entry.get("fused", False)
    if not isinstance(fused, bool):
        raise ValueError(f"{where}: fused must be true or false")
    try:
        pattern = re.compile(name, re.IGNORECASE) if name is not None else None
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{where}: the name is no regular expression ({error})") from None
    return ClassRule(id_, paint, why, pattern, tuple(c.lower() for c in cats or ()), fused)


def _shipped_texts() -> tuple[str, str]:
    folder = files("resources") / "rules"
    return (
        (folder / "categories.toml").read_text(encoding="utf-8"),
        (folder / "classes.toml").read_text(encoding="utf-8"),
    )


@lru_cache(maxsize=1)
def shipped_rules() -> RuleTable:
    """The rules in resources/rules."""
    return parse_rules(*_shipped_texts())


def user_rules(text: str) -> RuleTable:
    """The shipped rules with a user's class rules (TOML text) in front. ValueError names the bad rule."""
    return parse_rules(*_shipped_texts(), text)


def load_rules(user: Path | None) -> RuleTable:
    """The shipped rules, with those of a user's file in front. UsageError names the file and the rule that is wrong."""
    if user is None:
        return shipped_rules()
    try:
        return user_rules(read_small(user, MAX_BYTES, "a file of class rules (TOML)").decode("utf-8-sig"))
    except InputError as error:
        raise UsageError(f"the rules {user} cannot be read: {error.problem}.") from None
    except ValueError as error:  # bad TOML and bad UTF-8 are ValueErrors
        raise UsageError(f"the rules {user} cannot be used: {error}.") from None
