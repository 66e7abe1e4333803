"""Reading of PanelFrames in tests: figures and tables by title and label."""

from __future__ import annotations

from viewer.base.frames import Figure, PanelFrame, Section, TableFrame


def section(frame: PanelFrame, title: str) -> Section:
    """The only section of that title."""
    (found,) = [s for s in frame.sections if s.title == title]
    return found


def figure(frame: PanelFrame, title: str, label: str) -> Figure:
    """The only figure of that label in a section."""
    (found,) = [f for f in section(frame, title).figures if f.label == label]
    return found


def values(frame: PanelFrame, title: str) -> dict[str, str]:
    """Label -> value of a section, no-break spaces as spaces."""
    return {f.label: f.value.replace("\u00a0", " ") for f in section(frame, title).figures}


def table(frame: PanelFrame, title: str) -> TableFrame:
    """The table of a section."""
    found = section(frame, title).table
    assert found is not None
    return found


def titles(frame: PanelFrame) -> list[str]:
    """Titles in order."""
    return [s.title for s in frame.sections]


def unexplained(frame: PanelFrame) -> list[str]:
    """Figures and columns that do not say how they were computed."""
    out = [f"{s.title}: {f.label}" for s in frame.sections for f in s.figures if not f.how and f.tone != "muted"]
    for s in frame.sections:
        if s.table is not None:
            assert len(s.table.rows) == len(s.table.keys) == len(s.table.jumps) == len(s.table.paints)
            assert all(
                len(r) == len(k) == len(s.table.headers) for r, k in zip(s.table.rows, s.table.keys, strict=True)
            )
            out += [f"{s.title}: {h}" for h, how in zip(s.table.headers, s.table.how, strict=True) if not how]
    return out
