"""The panels beside and below the lanes, as data: docks, menus and the palette come from this one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """One panel.

    Attributes:
        name: stable; layouts remember it.
        title: of its tab.
        place: "right" of the lanes, or "below" them for what is wide.
        shown: whether it is there from the first; others wait until they are asked for.
        make: "module:Class" of a widget made with (JobContext, parent); "" when a feature makes it.
        text: with a mnemonic, in the menu Analyze; "" for no entry of its own.
        keys: shortcuts of that entry.
        tip: what it answers.
        height: px that a panel below asks for at first.
        action: id of the action that shows it, where it is not "show_" and its name.
        needs_job: False for one that says something while no job is open.
    """

    name: str
    title: str
    place: Literal["right", "below"] = "right"
    shown: bool = False
    make: str = ""
    text: str = ""
    keys: tuple[str, ...] = ()
    tip: str = ""
    height: int = 260
    action: str = ""
    needs_job: bool = True


PANELS: Final = (
    PanelSpec(
        "findings",
        "Findings",
        shown=True,
        text="F&indings",
        tip="What to change first, with the saving of each change and its evidence",
    ),
    PanelSpec("attribution", "Attribution", shown=True, make="viewer.panels.attribution:AttributionPanel"),
    PanelSpec("breakdown", "Breakdown", shown=True, make="viewer.panels.breakdown:BreakdownPanel"),
    PanelSpec("clocks", "Clocks", shown=True),
    PanelSpec("files", "Import", shown=True),
    PanelSpec("kept", "Notes", shown=True),
    PanelSpec(
        "fingerprint",
        "Fingerprint",
        text="&Fingerprint",
        tip="Five figures of a training job against theory and usual ranges, and where the peak goes",
    ),
    PanelSpec(
        "job_card",
        "Job card",
        text="&Job Card",
        tip="What no trace says of a job: model, parallel plan, run and hardware",
    ),
    PanelSpec(
        "gaps",
        "Gaps",
        "below",
        make="viewer.panels.gaps:GapsPanel",
        text="&Gaps",
        tip="Where the GPUs are idle, cut by cause, and the longest gaps",
        height=300,
    ),
    PanelSpec(
        "range",
        "Selection",
        "below",
        action="selection_table",
        tip="What runs in the selected range, rank or lanes, else in sight",
    ),
    PanelSpec(
        "stragglers",
        "Stragglers",
        "below",
        action="stragglers",
        tip="Who is late, by how much, why, and who waits",
        height=290,
    ),
    PanelSpec(
        "kernels",
        "Kernels",
        "below",
        make="viewer.panels.kernels:KernelsPanel",
        text="&Kernels and Operators",
        tip="Which kernels, operators, modules and steps take the GPU's time, and at what rate",
        height=300,
    ),
    PanelSpec(
        "flame",
        "Flame Graph",
        "below",
        make="viewer.panels.flame:FlamePanel",
        text="&Flame Graph",
        tip="Where the time of the GPU or of the CPU went, by stack of modules, operators and Python",
        height=340,
    ),
    PanelSpec(
        "parallel",
        "Parallel",
        "below",
        make="viewer.panels.parallel:ParallelPanel",
        text="&Parallel View",
        tip="Pipeline stages, micro-batches and the bubble against theory",
        height=320,
    ),
    PanelSpec(
        "memory",
        "Memory",
        "below",
        action="memory",
        tip="Who holds what of a GPU's memory at any instant, as maps and lists, and the peak against theory",
        height=360,
    ),
    PanelSpec(
        "communication",
        "Communication",
        "below",
        make="viewer.panels.communication:CommunicationPanel",
        text="C&ommunication",
        tip="Exposed communication taken apart: waiting, volume, rate and what nothing hid; every collective by size",
        height=340,
    ),
    PanelSpec(
        "history",
        "History",
        "below",
        action="run_history",
        tip="Figures over the runs of a baseline, and their alarms",
        height=300,
        needs_job=False,
    ),
    PanelSpec(
        "compare",
        "Compare",
        "below",
        text="Co&mpare",
        tip="What changed from this run to a second one of the same load",
        height=300,
    ),
)
"""In the order of their tabs. Named in the table alone, a panel follows the JobContext it is given."""


def panel_spec(name: str) -> PanelSpec:
    """The panel of that name."""
    return next(p for p in PANELS if p.name == name)
