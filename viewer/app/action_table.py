"""Everything the window can do, as data: menus, keys, the palette and the list of keys all come from this one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.app.panel_table import PANELS


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One action.

    Attributes:
        id: stable name; the handler is looked up by it.
        menu: "&File", or "&View/&Theme" for a submenu.
        text: menu text with its mnemonic.
        keys: shortcuts in Qt's portable form; the first is shown.
        needs: what must be there: "" nothing, "job" an open job, "slice" a selected slice.
        choice_of: name of an exclusive group; such an action is checkable.
        separated: a separator goes before it.
        timeline_key: shown, but handled by the timeline itself while it has the focus.
        also: a further key that the timeline handles; the list of keys names it.
    """

    id: str
    menu: str
    text: str
    keys: tuple[str, ...] = ()
    icon: str = ""
    tip: str = ""
    needs: str = ""
    choice_of: str = ""
    separated: bool = False
    timeline_key: str = ""
    also: str = ""


ACTIONS: Final = (
    ActionSpec("open", "&File", "&Open…", ("Ctrl+O",), "open", "Open trace files as one job"),
    ActionSpec(
        "open_folder", "&File", "Open &Folder…", ("Ctrl+Shift+O",), "folder", "Open all traces of a folder as one job"
    ),
    ActionSpec("save", "&File", "&Save Session", ("Ctrl+S",), "", "Keep notes, marks, bookmarks and the view", "job"),
    ActionSpec("save_as", "&File", "Save Session &As…", ("Ctrl+Shift+S",), "", "Keep them in another file", "job"),
    ActionSpec("add_files", "&File", "&Add to Job…", (), "", "Open more files beside those that are open", "job"),
    ActionSpec("demo", "&File", "Open &Demo Job", (), "demo", "Make a job of 8 ranks and open it", separated=True),
    ActionSpec(
        "export",
        "&File",
        "&Export Picture…",
        ("Ctrl+E",),
        "picture",
        "Write an annotated picture",
        "job",
        separated=True,
    ),
    ActionSpec("copy", "&File", "&Copy Picture", ("Ctrl+Shift+C",), "copy", "Copy the visible timeline", "job"),
    ActionSpec(
        "save_pack", "&File", "Save Pac&k…", (), "", "Write the job into one file that opens without its sources", "job"
    ),
    ActionSpec(
        "save_report",
        "&File",
        "Save &Report…",
        (),
        "",
        "Write findings and figures as one HTML page, or as JSON",
        "job",
    ),
    ActionSpec(
        "close_job",
        "&File",
        "&Close Job",
        ("Ctrl+W",),
        "",
        "Close the job and show the start page",
        "job",
        separated=True,
    ),
    ActionSpec("quit", "&File", "&Quit", ("Ctrl+Q",)),
    ActionSpec(
        "add_mark",
        "&Edit",
        "Add &Mark",
        (),
        "mark",
        "Mark the instant under the pointer, or the selection that the pointer is in",
        "job",
        separated=True,
        timeline_key="M",
    ),
    ActionSpec(
        "add_note",
        "&Edit",
        "Add &Note…",
        (),
        "note",
        "Write a note on the slice or the lane under the pointer, else on the selection",
        "job",
        timeline_key="Shift+M",
    ),
    ActionSpec(
        "menu",
        "&Edit",
        "Context &Menu",
        (),
        "",
        "What can be done with the selected slice",
        "job",
        timeline_key="Menu",
        also="Shift+F10",
    ),
    ActionSpec("clear_selection", "&Edit", "Clear &Selection", (), "", "", "job", timeline_key="Esc"),
    ActionSpec("find", "&Edit", "&Find Name…", ("/",), "find", "Find a name on all ranks", "job", separated=True),
    ActionSpec("find_next", "&Edit", "Find Ne&xt", ("F3",), "", "The next hit in time", "job", also="Enter"),
    ActionSpec(
        "find_previous",
        "&Edit",
        "Find Pre&vious",
        ("Shift+F3",),
        "",
        "The hit before it",
        "job",
        also="Shift+Enter",
    ),
    ActionSpec(
        "measure",
        "&Edit",
        "&Measure",
        ("X",),
        "",
        "Drag from one edge of a slice to another; Ctrl does not snap; Esc ends, and again clears",
        "job",
        separated=True,
    ),
    ActionSpec("copy_measure", "&Edit", "C&opy Measurement", ("Ctrl+Shift+X",), "", "Its ns and its edges", "job"),
    ActionSpec("clear_measures", "&Edit", "Clear Meas&urements", (), "", "", "job"),
    ActionSpec("fit", "&View", "&Fit All", ("0",), "fit", "Show the whole job", "job"),
    ActionSpec(
        "fit_selection", "&View", "Fit &Selection", ("F",), "", "Zoom to the selected slice, gap or range", "job"
    ),
    ActionSpec("zero_job", "&View/Time &Axis", "Since the Start of the &Job", needs="job"),
    ActionSpec("zero_selection", "&View/Time &Axis", "Since the Start of the &Selection", needs="job"),
    ActionSpec("zoom_in", "&View", "Zoom &In", ("Ctrl++", "Ctrl+="), "", "", "job"),
    ActionSpec("zoom_out", "&View", "Zoom &Out", ("Ctrl+-",), "", "", "job"),
    ActionSpec("theme_system", "&View/&Theme", "&As the Desktop", choice_of="theme"),
    ActionSpec("theme_light", "&View/&Theme", "&Light", choice_of="theme"),
    ActionSpec("theme_dark", "&View/&Theme", "&Dark", choice_of="theme"),
    ActionSpec(
        "selection_table",
        "&View",
        "Selection &Table",
        ("T",),
        "",
        "What runs in the selected range, rank or lanes, else in sight",
        "job",
        separated=True,
    ),
    ActionSpec(
        "filter_lanes", "&View", "Fi&lter Lanes", ("Ctrl+F",), "", "Show only lanes and slices that match", "job"
    ),
    ActionSpec("color_class", "&View/&Colours", "By &Class", choice_of="coloring"),
    ActionSpec("color_name", "&View/&Colours", "By &Name", choice_of="coloring"),
    ActionSpec("color_rank", "&View/&Colours", "By &Rank", choice_of="coloring"),
    ActionSpec("color_group", "&View/&Colours", "By Commun&icator", choice_of="coloring"),
    ActionSpec("paints_usual", "&View/&Colours", "&Usual Colours", choice_of="paints", separated=True),
    ActionSpec("paints_safe", "&View/&Colours", "Colour-&Blind Safe", choice_of="paints"),
    ActionSpec("patterns_off", "&View/&Colours", "&Plain", choice_of="patterns", separated=True),
    ActionSpec(
        "patterns_on",
        "&View/&Colours",
        "With &Patterns",
        (),
        "",
        "Stripes upon communication and memory, dots upon waits",
        choice_of="patterns",
    ),
    ActionSpec(
        "launch_queues",
        "&View",
        "Launch &Queues",
        (),
        "",
        "Show or hide how much work waits in each stream's launch queue, as a counter below the streams",
        "job",
    ),
    ActionSpec("show_hidden", "&View", "Show &Hidden Lanes", (), "", "Bring back all ranks and lanes", "job"),
    *(ActionSpec(f"show_{p.name}", "&Analyze", p.text, p.keys, "", p.tip, "job") for p in PANELS if p.text),
    ActionSpec("clocks", "&Analyze", "&Clocks", (), "", "How the clocks of the ranks were brought together", "job"),
    ActionSpec(
        "raw_times", "&Analyze", "Base Ti&mes or Back", (), "", "Show raw base times; once more goes back", "job"
    ),
    ActionSpec("stragglers", "&Analyze", "S&tragglers", (), "", "Who is late, by how much, why, and who waits", "job"),
    ActionSpec("run_history", "&Analyze", "&History…", (), "", "Figures over the runs of a baseline", separated=True),
    ActionSpec(
        "compare_files",
        "&Analyze/Compare &with",
        "&Files…",
        (),
        "",
        "Open a second run of the job beside it: what changed, and the lanes of both on linked axes",
        "job",
    ),
    ActionSpec("memory", "&Analyze", "&Memory", (), "", "Who holds what of a GPU's memory at any instant", "job"),
    ActionSpec(
        "memory_peak",
        "&Go",
        "Memory &Peak",
        ("P",),
        "",
        "The instant at which most memory is allocated, and who holds it",
        "job",
    ),
    ActionSpec(
        "compare_folder", "&Analyze/Compare &with", "F&older…", (), "", "The same with the traces of a folder", "job"
    ),
    ActionSpec("end_compare", "&Analyze/Compare &with", "&Nothing", (), "", "Show the job alone again", "job"),
    ActionSpec("reset_layout", "&View", "&Reset Panels", (), "", "Put all panels where they were at first"),
    ActionSpec("back", "&Go", "&Back", ("Alt+Left",), "back", "The view before this one", "job", also="Backspace"),
    ActionSpec("forward", "&Go", "&Forward", ("Alt+Right",), "forward", "The view that Back left", "job"),
    ActionSpec("go_to", "&Go", "Go to &Time…", ("Ctrl+G",), "", "Type a time or a range", "job"),
    ActionSpec(
        "next_slice", "&Go", "Next &Slice on Lane", (".",), "", "The slice after it on the lane", "job", separated=True
    ),
    ActionSpec("previous_slice", "&Go", "Previous Slice on &Lane", (",",), "", "The slice before it", "job"),
    ActionSpec(
        "follow",
        "&Go",
        "F&ollow",
        ("]",),
        "",
        "From a launch to its GPU work, from forward to backward",
        "slice",
    ),
    ActionSpec(
        "follow_back", "&Go", "Follow Bac&k", ("[",), "", "From GPU work to its launch, to the forward pass", "slice"
    ),
    ActionSpec(
        "next_run", "&Go", "&Next Run", ("N",), "next", "The next run of the selected name", "slice", separated=True
    ),
    ActionSpec("previous_run", "&Go", "&Previous Run", ("Shift+N",), "previous", "The run before it", "slice"),
    ActionSpec(
        "slowest_run", "&Go", "&Slowest Run", ("\\",), "slowest", "The longest run of the selected name", "slice"
    ),
    *(
        ActionSpec(f"bookmark_{n}", "&Go/&Bookmarks", f"Bookmark &{n}", (f"{n}",), "", "Show the view it keeps", "job")
        for n in range(1, 10)
    ),
    *(
        ActionSpec(
            f"save_bookmark_{n}",
            "&Go/&Bookmarks/&Set",
            f"Set Bookmark &{n}",
            (f"Ctrl+{n}",),
            "",
            "Keep the window, the scroll and the lanes' arrangement",
            "job",
        )
        for n in range(1, 10)
    ),
    ActionSpec("palette", "&Help", "&Commands…", ("Ctrl+Shift+P",), "", "Everything that can be done, by typing"),
    ActionSpec(
        "next_step",
        "&Go",
        "Next S&tep",
        ("Ctrl+Right",),
        "",
        "Select the next step of the selected rank",
        "job",
        separated=True,
    ),
    ActionSpec("previous_step", "&Go", "Previous St&ep", ("Ctrl+Left",), "", "Select the step before it", "job"),
    ActionSpec(
        "stack_step",
        "&Go",
        "Stac&k this Step of Every Rank",
        ("K",),
        "",
        "Show the selected step of every rank from one start; again: back to the job's time",
        "job",
    ),
    ActionSpec("keys", "&Help", "&Keys", ("?", "F1"), "", "All keys and mouse gestures"),
    ActionSpec("log", "&Help", "Where the &Log Is"),
    ActionSpec("about", "&Help", "&About Rankscope"),
)
"""In order of the menus."""
