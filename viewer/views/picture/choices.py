"""What a person chooses in the export dialog, and the picture request that it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from viewer.base.errors import UsageError
from viewer.base.frames import LaneGroup
from viewer.base.kept import Mark, Note
from viewer.base.scene import check_size
from viewer.base.selection import EMPTY, Selection, TimeRange
from viewer.base.theme import Theme
from viewer.base.time import parse_window
from viewer.store.session import Session
from viewer.views.picture.colors import BY_CLASS, LaneColors
from viewer.views.picture.scene import LEAST_SIZE, PictureRequest, ViewRows

Format = Literal["png", "png2", "png4", "svg", "pdf"]
Extent = Literal["visible", "whole", "range", "typed"]
Rows = Literal["screen", "fit"]

FORMATS: Final[dict[Format, tuple[str, str, float]]] = {
    "png": ("PNG", "png", 1.0),
    "png2": ("PNG, 2x as sharp", "png", 2.0),
    "png4": ("PNG, 4x as sharp", "png", 4.0),
    "svg": ("SVG", "svg", 2.0),
    "pdf": ("PDF", "pdf", 2.0),
}
"""Label, kind of file, px of the lane image per logical px."""
EXTENTS: Final[dict[Extent, str]] = {
    "visible": "Visible window",
    "whole": "Whole trace",
    "range": "Selected range",
    "typed": "From:to, typed",
}
ROWS: Final[dict[Rows, str]] = {"screen": "As on screen", "fit": "All that fit"}
SIZES: Final = ((1280, 720), (1920, 1080), (3840, 2160))


@dataclass(frozen=True, slots=True)
class Shown:
    """What the window shows when the dialog opens.

    Attributes:
        session: the job.
        window: visible range.
        selection: marked slice, gap and range.
        notes, marks: all of the job.
        rows: the lanes on the screen.
        groups: ranks and lanes that are neither hidden nor filtered out, in their order; None for all.
        pinned: keys of the pinned lanes.
        colors: how they are coloured.
        size: of the timeline, logical px.
    """

    session: Session
    window: TimeRange
    selection: Selection = EMPTY
    notes: tuple[Note, ...] = ()
    marks: tuple[Mark, ...] = ()
    rows: ViewRows | None = None
    groups: tuple[LaneGroup, ...] | None = None
    pinned: tuple[str, ...] = ()
    colors: LaneColors = BY_CLASS
    size: tuple[int, int] = (1280, 720)


@dataclass(frozen=True, slots=True)
class Choices:
    """Everything that the dialog asks. ``size`` None is the size of the view; ``typed`` counts from the origin."""

    format: Format = "png2"
    size: tuple[int, int] | None = (1280, 720)
    extent: Extent = "visible"
    rows: Rows = "fit"
    typed: str = ""
    title: str = ""
    theme: str = "light"
    selection: bool = True
    notes: bool = True
    legend: bool = True
    footer: bool = True


def picture_size(choices: Choices, shown: Shown) -> tuple[int, int]:
    """Logical px of the picture; a view that is too small for one is made larger."""
    if choices.size is not None:
        return choices.size
    return max(shown.size[0], LEAST_SIZE[0]), max(shown.size[1], LEAST_SIZE[1])


def picture_window(choices: Choices, shown: Shown) -> TimeRange:
    """Session time of the picture. Raises UsageError when nothing is selected or what is typed is no window."""
    if choices.extent == "visible":
        return shown.window
    if choices.extent == "range":
        chosen = shown.selection.range
        if chosen is None or chosen.length_ns <= 0:
            raise UsageError("no range is selected: drag over the lanes to select one, or choose another window.")
        margin = chosen.length_ns // 20
        return TimeRange(chosen.start_ns - margin, chosen.end_ns + margin)
    if choices.extent == "typed":
        origin = shown.session.origin_ns()
        start, end = parse_window(choices.typed)
        return TimeRange(origin + start, origin + end)
    extent = shown.session.extent()
    if extent is None:
        return shown.window
    margin = max(1, extent.length_ns // 100)
    return TimeRange(extent.start_ns - margin, extent.end_ns + margin)


def picture_request(choices: Choices, shown: Shown, theme: Callable[[str], Theme]) -> PictureRequest:
    """The request that the choices make; ``theme`` finds a theme by name. Raises UsageError in one sentence."""
    _, kind, scale = FORMATS[choices.format]
    width, height = picture_size(choices, shown)
    check_size(width, height, scale, kind)
    selection = shown.selection if choices.selection else EMPTY
    return PictureRequest(
        window=picture_window(choices, shown),
        width=width,
        height=height,
        theme=theme(choices.theme).with_safe_paints() if shown.colors.safe else theme(choices.theme),
        scale=scale,
        vector=kind != "png",
        title=choices.title,
        selection=selection,
        notes=shown.notes if choices.notes else (),
        marks=shown.marks if choices.notes else (),
        view=shown.rows if choices.rows == "screen" else None,
        groups=shown.groups,
        pinned=shown.pinned,
        colors=shown.colors,
        legend=choices.legend,
        footer=choices.footer,
    )


def preview_request(request: PictureRequest, width: float, height: float, dpr: float) -> PictureRequest:
    """The same picture with no more pixels than a preview of that size shows."""
    fit = min(1.0, width / request.width, height / request.height)
    return replace(request, scale=max(0.05, fit * dpr), vector=False)


def choices_from(saved: Mapping[str, object]) -> Choices:
    """Choices from settings; what is unknown or of another type is left at its default."""
    plain = Choices()
    given: dict[str, object] = {}
    for name in ("selection", "notes", "legend", "footer"):
        if isinstance(saved.get(name), bool):
            given[name] = saved[name]
    for name, known in (("format", FORMATS), ("extent", EXTENTS), ("rows", ROWS)):
        if saved.get(name) in known:
            given[name] = saved[name]
    size = saved.get("size", plain.size)
    if size is None:
        given["size"] = None
    elif isinstance(size, list | tuple) and len(size) == 2 and all(isinstance(n, int) for n in size):
        given["size"] = (int(size[0]), int(size[1]))
    if isinstance(saved.get("theme"), str):
        given["theme"] = saved["theme"]
    return replace(plain, **given)  # type: ignore[arg-type]
