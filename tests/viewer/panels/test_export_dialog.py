from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from tests.picture_job import US, job
from viewer.app.themes import NAMES, load_theme
from viewer.base.errors import InputError
from viewer.base.scene import PictureScene
from viewer.base.selection import TimeRange
from viewer.exporters.picture import write_picture
from viewer.panels.export_dialog import ExportDialog, file_name
from viewer.panels.work import WorkRunner
from viewer.views.picture.choices import Choices, Shown
from widgets.picture_painter import encode, font_family

Make = Callable[..., ExportDialog]


def write(scene: PictureScene, path: Path) -> Path:
    return write_picture(scene, path, encode, font_family())


@pytest.fixture
def make(qtbot: QtBot) -> Iterator[Make]:
    work = WorkRunner()
    made: list[ExportDialog] = []

    def build(choices: Choices | None = None, writer: Callable[[PictureScene, Path], Path] = write) -> ExportDialog:
        session = job(2)
        origin = session.origin_ns()
        shown = Shown(session, TimeRange(origin - 50 * US, origin + 900 * US), size=(1000, 500))
        dialog = ExportDialog(work, shown, writer, load_theme, NAMES, choices)
        made.append(dialog)
        dialog.show()
        return dialog

    yield build
    for dialog in made:
        dialog.close()
    work.shutdown()
    for dialog in made:
        dialog.deleteLater()


def test_choices_come_back_as_they_were_given(make: Make) -> None:
    for choices in (
        Choices(title="A title", theme="dark", notes=False, footer=False),
        Choices(format="pdf", size=None, extent="typed", typed="1us:2us", rows="screen"),
        Choices(format="png4", size=(1234, 777), legend=False, selection=False),
    ):
        assert make(choices).choices() == choices


def test_the_preview_is_the_picture_and_follows_the_choices(make: Make, qtbot: QtBot) -> None:
    dialog = make()
    qtbot.waitUntil(lambda: dialog.preview is not None, timeout=60_000)
    first = dialog.preview
    assert first is not None
    assert first.width() / first.height() == pytest.approx(1280 / 720, rel=0.02)
    assert first.pixelColor(2, 2).name() == load_theme("light")["base"]
    dialog.set_choices(Choices(theme="dark"))
    qtbot.waitUntil(lambda: dialog.preview is not first and dialog.preview is not None, timeout=60_000)
    assert dialog.preview is not None
    assert dialog.preview.pixelColor(2, 2).name() == load_theme("dark")["base"]


@pytest.mark.parametrize(
    ("choice", "suffix", "head"), [("png2", "png", b"\x89PNG"), ("svg", "svg", b"<?xml"), ("pdf", "pdf", b"%PDF")]
)
def test_saving_writes_the_chosen_format(
    make: Make, qtbot: QtBot, tmp_path: Path, choice: str, suffix: str, head: bytes
) -> None:
    dialog = make(Choices(format=choice))  # type: ignore[arg-type]
    path = tmp_path / f"out.{suffix}"
    with qtbot.waitSignal(dialog.saved, timeout=60_000) as got:
        dialog.save_to(path)
    assert got.args == [path]
    assert path.read_bytes().startswith(head)
    assert dialog.message == f"Saved {path}"
    if choice == "png2":
        image = QImage(str(path))
        assert (image.width(), image.height()) == (2560, 1440)


def test_the_save_button_asks_for_a_file_named_after_the_title(
    make: Make, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = make(Choices(title="Step 3: rank/5", format="png"))
    asked: list[str] = []

    def answer(_: object, __: str, start: str, filters: str) -> tuple[str, str]:
        asked.append(start)
        return str(tmp_path / "mine"), filters

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    with qtbot.waitSignal(dialog.saved, timeout=60_000) as got:
        dialog._save.click()
    assert asked == ["Step 3_ rank_5.png"]
    assert got.args == [tmp_path / "mine.png"]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("hta_nccl_data.json.gz", "hta_nccl_data"),
        ("rank0.pt.trace.json", "rank0.pt.trace"),
        ("Step 3: a/b", "Step 3_ a_b"),
        (".json", "json"),
        ("", "rankscope"),
    ],
)
def test_the_name_of_a_picture_comes_from_its_title(title: str, name: str) -> None:
    assert file_name(title) == name


def test_closing_while_a_file_is_written_waits_for_it(make: Make, qtbot: QtBot, tmp_path: Path) -> None:
    gate = threading.Event()

    def slow(scene: PictureScene, path: Path) -> Path:
        gate.wait(60)
        return write(scene, path)

    dialog = make(Choices(), slow)
    dialog.save_to(tmp_path / "a.png")
    dialog.reject()
    assert dialog.isVisible()
    with qtbot.waitSignals([dialog.saved, dialog.finished], timeout=60_000):
        gate.set()
    assert not dialog.isVisible()
    assert (tmp_path / "a.png").exists()


def test_copying_puts_an_image_and_png_bytes_on_the_clipboard(make: Make, qtbot: QtBot) -> None:
    dialog = make(Choices(format="png", size=(640, 360)))
    with qtbot.waitSignal(dialog.copied, timeout=60_000):
        dialog.copy()
    data = QGuiApplication.clipboard().mimeData()
    assert data.hasImage()
    image = QImage.fromData(data.data("image/png"))
    assert (image.width(), image.height()) == (640, 360)
    QGuiApplication.clipboard().clear()


def test_what_cannot_be_done_is_said_and_the_dialog_stays_usable(make: Make, qtbot: QtBot, tmp_path: Path) -> None:
    def refuse(scene: PictureScene, path: Path) -> Path:
        raise InputError(path.name, "the picture cannot be written (disk full)", next_step="Choose another place.")

    dialog = make(Choices(), refuse)
    with qtbot.waitSignal(dialog.failed, timeout=60_000) as got:
        dialog.save_to(tmp_path / "a.png")
    assert got.args == ["a.png: the picture cannot be written (disk full). Choose another place."]
    qtbot.waitUntil(dialog._save.isEnabled, timeout=60_000)


def test_a_window_that_is_none_is_said_instead_of_a_preview(make: Make, qtbot: QtBot) -> None:
    dialog = make()
    qtbot.waitUntil(lambda: dialog.preview is not None, timeout=60_000)
    with qtbot.waitSignal(dialog.failed, timeout=60_000):
        dialog.set_choices(Choices(extent="range"))
    assert dialog.message.startswith("No range is selected")
    assert dialog.preview is None
    assert not dialog._save.isEnabled()
    dialog.set_choices(Choices())
    qtbot.waitUntil(lambda: dialog.preview is not None, timeout=60_000)
    assert dialog._save.isEnabled()
