from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from tests.picture_job import HOSTILE, NCCL, US, job
from viewer.app.render import NO_FONT, job_title, render_file, window_of
from viewer.base.errors import UsageError
from viewer.base.selection import SliceRef, TimeRange
from viewer.store.session import Session
from viewer.views.lanes.find_slice import longest_named

NS = {"s": "http://www.w3.org/2000/svg"}


def svg_texts(path: Path) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(path.read_bytes()).iterfind("s:text", NS)]


def test_a_png_has_the_asked_for_pixels_and_is_the_same_each_time(qtbot: QtBot, tmp_path: Path) -> None:
    s = job(2)
    for name in ("a.png", "b.png"):
        render_file(s, tmp_path / name, size=(640, 360), scale=2, notes=["10us:a note"], select="allreduce")
    image = QImage(str(tmp_path / "a.png"))
    assert (image.width(), image.height()) == (1280, 720)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_an_svg_says_title_note_selection_and_names(qtbot: QtBot, tmp_path: Path) -> None:
    said: list[str] = []
    path = render_file(
        job(2),
        tmp_path / "a.svg",
        size=(1280, 720),
        window=(-50_000, 950_000),
        notes=["850us@rank 0/stream 0:7:look: here"],
        select="ALLREDUCE",
        title="What <happened>",
        tell=said.append,
    )
    texts = svg_texts(path)
    assert "What <happened>" in texts
    assert "look: here" in texts
    assert "500.000 us  ·  communication  ·  rank 0, stream 20" in texts
    assert any("window \u221250 us to 950 us after the first GPU start" in t for t in texts)
    assert said == [f"selected {NCCL!r}, 500.000 us, rank 0, the longest with 'ALLREDUCE' in its name."]
    tips = [e.text for e in ElementTree.fromstring(path.read_bytes()).iterfind(".//s:rect/s:title", NS)]
    assert f"{HOSTILE.replace(chr(7), chr(92) + 'x07')}, 75.000 us" in tips
    again = render_file(job(2), tmp_path / "b.svg", size=(1280, 720))
    assert again.read_bytes() == render_file(job(2), tmp_path / "c.svg", size=(1280, 720)).read_bytes()


def test_without_a_title_the_folder_or_the_file_names_the_picture(qtbot: QtBot, tmp_path: Path) -> None:
    assert job_title(job(2)) == "job 1"
    assert job_title(job(1)) == "rank0.json"
    assert job_title(Session()) == ""
    texts = svg_texts(render_file(job(2), tmp_path / "a.svg", size=(1280, 720)))
    assert texts[0] == "job 1"


def test_the_window_counts_from_the_origin_and_defaults_to_everything() -> None:
    s = job(1)
    origin = s.origin_ns()
    assert window_of(s, (5, 10)) == TimeRange(origin + 5, origin + 10)
    assert window_of(s, None) == TimeRange(origin - 100 * US - 9950, origin + 895 * US + 9950)
    with pytest.raises(UsageError, match="ends before it begins"):
        window_of(s, (10, 10))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"output": Path("a.gif")}, "is no picture format"),
        ({"theme_name": "pink"}, "there is no theme 'pink'"),
        ({"size": (20_000, 100)}, "a side has at most"),
        ({"size": (100, 100)}, "needs at least 480x270"),
        ({"notes": ["x"]}, "'x' is no note"),
        ({"select": "nothing like it"}, "no slice has 'nothing like it' in its name"),
        ({"select": " "}, "--select needs a part of a slice's name"),
    ],
)
def test_what_is_wrong_with_the_call_is_said(
    qtbot: QtBot, tmp_path: Path, given: dict[str, object], sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        render_file(job(1), **({"output": tmp_path / "a.png"} | given))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_selection_outside_the_window_is_told(qtbot: QtBot, tmp_path: Path) -> None:
    said: list[str] = []
    path = render_file(job(1), tmp_path / "a.svg", window=(0, 50_000), select="allreduce", tell=said.append)
    assert said[0].endswith("It lies outside the window.")
    assert any("the selection lies outside this window" in t for t in svg_texts(path))


def render_elsewhere(output: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Render in a process of its own, without display and application."""
    code = (
        "import sys; from pathlib import Path; from tests.picture_job import job; "
        "from viewer.app.render import render_file; from viewer.base.errors import UsageError\n"
        "try: render_file(job(1), Path(sys.argv[1]), size=(640, 360))\n"
        "except UsageError as error: sys.exit(str(error))"
    )
    env = {k: v for k, v in os.environ.items() if k not in {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}}
    return subprocess.run(
        [sys.executable, "-c", code, str(output)],
        cwd=Path(__file__).resolve().parents[3],
        env=env | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_machine_without_fonts_is_told_what_to_install(tmp_path: Path) -> None:
    empty = tmp_path / "fonts"
    empty.mkdir()
    settings = tmp_path / "fonts.conf"
    settings.write_text(f"<fontconfig><dir>{empty}</dir><cachedir>{empty}</cachedir></fontconfig>")
    done = render_elsewhere(tmp_path / "a.png", FONTCONFIG_FILE=str(settings))
    assert done.returncode == 1
    assert done.stderr.strip().endswith(NO_FONT)
    assert not (tmp_path / "a.png").exists()


def test_no_display_and_no_application_are_needed(tmp_path: Path) -> None:
    done = render_elsewhere(tmp_path / "a.png")
    assert (done.returncode, done.stderr) == (0, "")
    assert QImage(str(tmp_path / "a.png")).width() == 640


def test_the_longest_slice_with_a_part_of_a_name_is_found() -> None:
    s = job(2)
    found = longest_named(s, "nccl")
    assert found is not None
    assert s.inputs[found.input].trace.name(found.index) == NCCL
    assert found.input == 0
    origin = s.origin_ns()
    late = longest_named(s, "", TimeRange(origin + 760 * US, origin + 770 * US))
    assert isinstance(late, SliceRef)
    assert s.inputs[0].trace.name(late.index).startswith("Memcpy")
    assert longest_named(s, "(.*)") is None
    assert longest_named(s, "nccl", TimeRange(origin, origin + 1)) is None
