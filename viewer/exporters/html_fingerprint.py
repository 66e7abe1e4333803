"""The training fingerprint: each figure with its theory, its usual range, and what it needs where it has no value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from viewer.exporters.html_parts import Markup, bar, joined, name, note, table, tag

if TYPE_CHECKING:
    from viewer.exporters.html_page import Page

TITLE: Final = "Training fingerprint"


def section(page: Page) -> Markup | str | None:
    """The figures as a table, and the waterfall from the peak to what was measured."""
    training = (page.data.get("fingerprint") or {}).get("training")
    if not training:
        return None
    figures = [f for f in training.values() if isinstance(f, dict) and "title" in f and "range" in f]
    if not figures:
        return None
    rows = [
        (
            f["title"],
            tag("span", _percent(f["value"]), class_=f["status"] if f["status"] in ("bad", "outside") else None),
            _percent(f["theory"]),
            _range(f["range"]),
            name(_words(f), 500),
        )
        for f in figures
    ]
    out = [table(("figure", "measured", "theory", "usual range", "how"), rows, -1, "fingerprint")]
    waterfall = training.get("waterfall")
    if waterfall and waterfall.get("losses"):
        total = waterfall["total_ns"] or 1
        parts = [*waterfall["losses"], *([waterfall["model"]] if waterfall.get("model") else [])]
        out += [
            tag("h4", "From the peak to what was measured"),
            table(
                ("", "", "share"),
                [(p["title"], bar((("accent", max(p["ns"], 0)),), total), _percent(p["ns"] / total)) for p in parts],
                2,
                "wide",
            ),
        ]
    if training.get("problem"):
        out.append(note(f"The job card cannot be right: {training['problem']}."))
    return joined(out)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _range(told: dict[str, Any]) -> str:
    low, high = told["low"], told["high"]
    if low is None and high is None:
        return "–"
    if low is None:
        return f"below {_percent(high)}"
    return f"above {_percent(low)}" if high is None else f"{_percent(low)} to {_percent(high)}"


def _words(f: dict[str, Any]) -> str:
    if f["value"] is None:
        return (
            f"not computable: needs {f['needs']} on the job card" if f["needs"] else str(f["why"] or "not computable")
        )
    said = str(f["how"])
    if f["applies"] is False:
        said += f" The range is for {f['condition']}: it does not apply here."
    return said
