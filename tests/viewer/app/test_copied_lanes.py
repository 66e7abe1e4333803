"""A picture made from the window, or from a session that it saved, shows the lanes as the window does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from pytestqt.qtbot import QtBot

from tests.viewer.app.test_main_window import opened
from viewer.app.main_window import MainWindow
from viewer.app.pictures import shown_in
from viewer.app.render import render_file
from viewer.app.themes import load_theme
from viewer.base.session_file import SavedColors, SessionFile
from viewer.views.lanes.arrangement import LaneArrangement, plain_arrangement
from viewer.views.lanes.looks import Coloring
from viewer.views.picture.choices import Choices, picture_request
from viewer.views.picture.scene import picture_scene

NS = {"s": "http://www.w3.org/2000/svg"}


def test_colours_pins_filter_and_order_of_the_window_are_those_of_its_picture(
    qtbot: QtBot, windows: Callable[..., MainWindow], job_folder: Path
) -> None:
    window = windows()
    window.open_paths([job_folder])
    opened(qtbot, window, 2)
    workspace = window.workspace
    assert workspace is not None
    lanes = workspace.timeline.lanes
    lanes.set_arrangement(LaneArrangement(pinned=("rank 1/stream 0:7",), filter="name:gemm"))
    window.workspace.set_colors(SavedColors("rank", safe=True))
    qtbot.waitUntil(lambda: bool(lanes.looks.looks) and lanes.looks.found.lanes is not None, timeout=60_000)
    shown = shown_in(workspace, window.kept)
    assert shown is not None
    assert shown.colors.coloring is Coloring.RANK
    assert shown.colors.safe
    assert shown.rows is not None
    assert shown.rows.placement.pinned_height > 0
    assert [lane.label for g in shown.groups or () for lane in g.lanes] == ["stream 7", "stream 7"]
    request = picture_request(Choices(size=(1280, 720), rows="screen", theme="dark"), shown, load_theme)
    assert request.theme == load_theme("dark").with_safe_paints()
    scene = picture_scene(shown.session, request)
    assert [t.text for t in scene.texts("lane")] == ["rank 1 · stream 7", "stream 7"]
    assert [t.text for t in scene.texts("legend")] == ["rank 0", "rank 1"]
    assert "filter: name:gemm" in [t.text for t in scene.texts("more")]
    lanes.looks.emphasise("class:comm")
    qtbot.waitUntil(lambda: len(lanes.looks.found.matched) == 2, timeout=60_000)
    again = shown_in(workspace, window.kept)
    assert again is not None
    assert again.colors.words == ("filter: name:gemm", "emphasised: class:comm")


def test_what_renders_a_session_arranges_and_colours_its_lanes(qtbot: QtBot, tmp_path: Path) -> None:
    from tests.picture_job import job

    now = LaneArrangement(pinned=("rank 1/stream 0:20",), hidden=frozenset({"rank 0"}))
    content = SessionFile(lanes=plain_arrangement(now), colors=SavedColors("rank"))
    path = render_file(job(2), tmp_path / "a.svg", size=(1280, 720), saved=content)
    texts = [e.text or "" for e in ElementTree.fromstring(path.read_bytes()).iterfind("s:text", NS)]
    assert "rank 1 · stream 20" in texts
    assert "compute" not in texts  # the legend tells ranks apart
    assert [t for t in texts if t in ("rank 0", "rank 1")] == ["rank 1", "rank 0", "rank 1"]  # header, then legend
