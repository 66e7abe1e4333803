"""The benchmark set: a TOML file that names loads, how to run them, and what of them is judged.

[gate]
baseline = "baseline"        # folder of the store, relative to this file
keep_traces = 3              # packs kept per load
history = 8                  # runs that a verdict needs

[[load]]
name = "train-step"
kind = "training step"       # or "prefill", "decode", "other"
command = ["python", "step.py", "--trace-to", "{out}"]
traces = ["{out}"]           # or traces that are there already
figures = "{out}/figures.json"   # further figures that the load writes
time_limit = "10 min"
repeat = 1                   # the median of so many runs is judged

[load.metrics.step_ns]
direction = "lower"
threshold = 0.02             # relative change that counts
gate = true                  # fails the check
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from viewer.base.errors import InputError
from viewer.base.run_record import KINDS, Better
from viewer.store.small_file import read_small
from viewer.store.toml_text import read_toml

MAX_BYTES: Final = 1 << 20
MOST_LOADS: Final = 500
_TIME: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|sec|seconds?|min|minutes?|h|hours?)?\s*\Z")
_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}
TIME_LIMIT: Final = 1800.0


@dataclass(frozen=True, slots=True)
class Metric:
    """What a manifest says of one figure; None where it says nothing."""

    direction: Better | None = None
    threshold: float | None = None
    gate: bool | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """One load. ``command`` is run without a shell, ``seconds`` is its time limit. "{out}" stands for a folder."""

    name: str
    kind: str = "other"
    command: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()
    figures: str = ""
    seconds: float = TIME_LIMIT
    repeat: int = 1
    job: str = ""
    metrics: dict[str, Metric] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A benchmark set. ``folder`` is where its file lies: relative paths and commands start there."""

    folder: Path
    loads: tuple[Load, ...]
    baseline: Path | None = None
    keep_traces: int = 3
    history: int | None = None

    def load(self, name: str) -> Load | None:
        """The load of that name."""
        return next((found for found in self.loads if found.name == name), None)


def read_manifest(path: Path) -> Manifest:
    """Read a manifest. Raises InputError with the place of what is wrong."""
    data = read_small(path, MAX_BYTES, "a manifest (TOML)")
    try:
        raw = read_toml(data.decode("utf-8-sig"))
    except ValueError as error:  # no UTF-8 is one as well
        raise InputError(str(path), f"is no TOML: {str(error)[:200]}", "", "Mend it there.") from None
    return _Reader(str(path)).manifest(raw, path.absolute().parent)


class _Reader:
    """Turns tables into a manifest and says where something is wrong."""

    def __init__(self, name: str) -> None:
        self._name = name

    def manifest(self, raw: dict[str, Any], folder: Path) -> Manifest:
        self._known(raw, "", ("gate", "load"))
        gate = self._table(raw.get("gate", {}), "gate")
        self._known(gate, "gate", ("baseline", "keep_traces", "history"))
        loads = raw.get("load", [])
        if not isinstance(loads, list) or not loads or len(loads) > MOST_LOADS:
            self._wrong("load", f"must be 1 to {MOST_LOADS} tables [[load]]")
        found = tuple(self._load(self._table(t, f"load[{i}]"), f"load[{i}]") for i, t in enumerate(loads))
        names = [load.name for load in found]
        for name in names:
            if names.count(name) > 1:
                self._wrong("load", f"two loads are named {name!r}")
        baseline = self._text(gate, "baseline", "gate", "")
        return Manifest(
            folder,
            found,
            folder / baseline if baseline else None,
            self._whole(gate, "keep_traces", "gate", 3, 0, 10_000),
            self._whole(gate, "history", "gate", 0, 0, 1_000) or None,
        )

    def _load(self, raw: dict[str, Any], at: str) -> Load:
        keys = ("name", "kind", "command", "traces", "figures", "time_limit", "repeat", "job", "metrics")
        self._known(raw, at, keys)
        name = self._text(raw, "name", at, "")
        if not name or len(name) > 200:
            self._wrong(f"{at}.name", "a load needs a name of at most 200 characters")
        kind = self._text(raw, "kind", at, "other")
        if kind not in KINDS:
            self._wrong(f"{at}.kind", f"{kind!r} is none of {', '.join(KINDS)}")
        load = Load(
            name,
            kind,
            self._words(raw, "command", at),
            self._words(raw, "traces", at),
            self._text(raw, "figures", at, ""),
            self._seconds(raw, at),
            self._whole(raw, "repeat", at, 1, 1, 100),
            self._text(raw, "job", at, ""),
            {
                key: self._metric(self._table(table, f"{at}.metrics.{key}"), f"{at}.metrics.{key}")
                for key, table in self._table(raw.get("metrics", {}), f"{at}.metrics").items()
            },
        )
        if not load.command and not load.traces and not load.figures:
            self._wrong(at, "a load needs a command to run, traces or figures to read")
        return load

    def _metric(self, raw: dict[str, Any], at: str) -> Metric:
        self._known(raw, at, ("direction", "threshold", "gate"))
        direction = raw.get("direction")
        if direction not in (None, "lower", "higher"):
            self._wrong(f"{at}.direction", "must be 'lower' or 'higher': what is better")
        threshold = raw.get("threshold")
        if threshold is not None and (
            isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold < 10
        ):
            self._wrong(f"{at}.threshold", "must be a share between 0 and 10, as in 0.02 for 2 %")
        gate = raw.get("gate")
        if gate is not None and not isinstance(gate, bool):
            self._wrong(f"{at}.gate", "must be true or false")
        return Metric(direction, None if threshold is None else float(threshold), gate)

    def _seconds(self, raw: dict[str, Any], at: str) -> float:
        value = raw.get("time_limit", TIME_LIMIT)
        match = _TIME.match(value) if isinstance(value, str) else None
        if match:
            value = float(match[1]) * _UNITS[(match[2] or "s")[0]]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 7 * 86_400:
            self._wrong(f"{at}.time_limit", 'must be seconds, or a text such as "90 s", "10 min", "2 h"')
        return float(value)

    def _words(self, raw: dict[str, Any], key: str, at: str) -> tuple[str, ...]:
        value = raw.get(key, [])
        if isinstance(value, str):
            import shlex

            try:
                value = shlex.split(value) if key == "command" else [value]
            except ValueError as error:
                self._wrong(f"{at}.{key}", f"cannot be split into words: {error}")
        if not isinstance(value, list) or not all(isinstance(w, str) and "\0" not in w for w in value):
            self._wrong(f"{at}.{key}", "must be a list of texts")
        return tuple(value)

    def _text(self, raw: dict[str, Any], key: str, at: str, default: str) -> str:
        value = raw.get(key, default)
        if not isinstance(value, str) or "\0" in value:
            self._wrong(f"{at}.{key}", "must be a text")
        return str(value)

    def _whole(self, raw: dict[str, Any], key: str, at: str, default: int, least: int, most: int) -> int:
        value = raw.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self._wrong(f"{at}.{key}", f"must be a whole number from {least} to {most:,}")
        return int(value)

    def _table(self, value: Any, at: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._wrong(at, "must be a table")
        return dict(value)

    def _known(self, raw: dict[str, Any], at: str, keys: tuple[str, ...]) -> None:
        for key in raw:
            if key not in keys:
                self._wrong(f"{at}.{key}".lstrip("."), f"is not known; there are {', '.join(keys)}")

    def _wrong(self, at: str, problem: str) -> NoReturn:
        raise InputError(self._name, problem, at, "Mend the manifest.")
