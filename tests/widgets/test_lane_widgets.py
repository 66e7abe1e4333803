from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFocusEvent, QFont, QImage, QPainter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.support.themes import theme
from viewer.base.frames import LaneFrame, LaneGroup, LaneRow, Names, Pixels, PlacedRow, Placement, Swatch
from viewer.base.ids import LaneKind, Paint
from viewer.base.names import short_name
from viewer.base.selection import TimeRange
from viewer.base.theme import PAINT_NAMES
from viewer.views.lanes.painter import stamp_names
from widgets.labels import NameMasks
from widgets.lane_headers import LaneHeaders
from widgets.lane_overlay import NOTE_WIDTH, NotePin, Overlay, Tip, note_rect, paint_overlay
from widgets.lanes_canvas import LanesCanvas
from widgets.legend import Legend
from widgets.minimap import Minimap
from widgets.ruler import Ruler

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::Functor<float> >(int)",
            "vectorized_elementwise_kernel",
        ),
        ("void cutlass::Kernel<cutlass_80_gemm_nt>(Params)", "cutlass_80_gemm_nt>(Params)"),
        ("void at::native::(anonymous namespace)::many<at::native::(anonymous namespace)::M<2> >(int)", "many"),
        ("(anonymous namespace)::fill(int)", "fill"),
        ("aten::matmul", "matmul"),
        ("ampere_bf16_s16816gemm", "ampere_bf16_s16816gemm"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "AllReduce_Sum_bf16_RING_LL"),
        ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"),
        ("torch/nn/modules/module.py(1518): _call_impl", "_call_impl · module.py(1518)"),
        (
            "<frozen importlib._bootstrap>(1390): _handle_fromlist",
            "_handle_fromlist · <frozen importlib._bootstrap>(1390)",
        ),
        ("<built-in method add>", "add"),
        ("<built-in method numel of Tensor object at 0x7fdc681d0910>", "numel"),
        ("<something else>", "<something else>"),
        ("", ""),
    ],
)
def test_short_names_keep_what_tells(name: str, short: str) -> None:
    assert short_name(name) == short


def stamped(width: float, name: str = "void at::native::some_kernel<float>(int)") -> list[int]:
    """Columns of a white box of that width on black that its name reaches."""
    masks = NameMasks(QFont(), 11)
    full, short = masks.find(np.zeros(1, np.int64), [name])
    image = np.full((20, 600), 0xFF000000, np.uint32)
    one = np.zeros(1, np.int64)
    names = Names(np.zeros(1), np.full(1, width), one, one + 20, one, one, np.full(1, 0xFFFFFFFF, np.uint32), [name])
    stamp_names(Pixels.of(image), names, full, short, masks.masks, masks.places, 5, masks.least)
    return np.flatnonzero((image != 0xFF000000).any(axis=0)).tolist()


def test_names_show_whole_shortened_cut_or_not_at_all(qtbot: QtBot) -> None:
    whole, short, cut = stamped(500), stamped(120), stamped(50)
    assert whole[-1] > 2 * short[-1] > 0
    assert whole[0] == short[0] == cut[0]
    assert short[-1] < 116, "some_kernel alone"
    assert 30 < cut[-1] <= 45, "it fades out inside the box"
    assert stamped(16) == []
    assert stamped(500, "<b>bold</b>")[-1] > stamped(500, "bold")[-1], "names are no markup"
    assert stamped(500, "") == []


def test_a_frame_makes_a_few_names_and_the_next_ones_the_others(qtbot: QtBot) -> None:
    masks, texts = NameMasks(QFont(), 11), [f"name {k}" for k in range(100)]
    ids = np.arange(100)
    rounds = 1
    while (masks.find(ids, texts)[0] == 0).any():
        assert masks.missing
        rounds += 1
    assert 2 < rounds < 5
    assert not masks.missing


def group(number: int, *lanes: LaneRow, warning: str = "") -> LaneGroup:
    return LaneGroup(number, f"rank {number}", "node · GPU", lanes, warning)


def lane(key: str, sub_rows: int = 1) -> LaneRow:
    return LaneRow(key, f"label {key}", f"detail {key}", LaneKind.STREAM, sub_rows, ((0, 0),))


def placement() -> Placement:
    a, b = group(0, lane("a"), lane("deep", 30)), group(1, lane("b"), warning="careful")
    rows = (
        PlacedRow(0, 28, a, None, 18),
        PlacedRow(28, 26, a, a.lanes[0], 20),
        PlacedRow(54, 146, a, a.lanes[1], 5),
        PlacedRow(200, 28, b, None, 18),
        PlacedRow(228, 26, b, b.lanes[0], 20),
    )
    return Placement(rows, 254)


@pytest.fixture
def headers(qtbot: QtBot) -> LaneHeaders:
    made = LaneHeaders(theme())
    qtbot.addWidget(made)
    made.resize(220, 160)
    made.set_rows(placement(), frozenset(), frozenset({"deep"}), frozenset())
    made.show()
    return made


def test_headers_say_what_was_clicked(headers: LaneHeaders, qtbot: QtBot) -> None:
    said: list[tuple[str, object]] = []
    headers.group_toggled.connect(lambda g: said.append(("toggle", g)))
    headers.group_clicked.connect(lambda g: said.append(("group", g)))
    headers.lane_toggled.connect(lambda k: said.append(("lane", k)))
    for point in (QPoint(12, 14), QPoint(80, 14), QPoint(80, 40), QPoint(80, 100)):
        qtbot.mouseClick(headers, LEFT, NONE, point)
    assert said == [("toggle", 0), ("group", 0), ("lane", "deep")]


def test_a_lane_that_can_be_made_tall_shows_it_before_it_is_pointed_at(headers: LaneHeaders) -> None:
    def mark(y: int) -> set[str]:
        image = headers.grab().toImage()
        return {image.pixelColor(x, y).name() for x in range(202, 214)}

    assert len(mark(54 + 13)) > 1
    assert len(mark(28 + 13)) == 1, "a lane of full height has no triangle"


def test_the_group_header_sticks_to_the_top_until_the_next_pushes_it_out(headers: LaneHeaders) -> None:
    headers.set_top(90)
    assert headers.tip_at(5).startswith("rank 0")
    assert headers.tip_at(40).startswith("detail deep")
    headers.set_top(190)  # the next header is 10 px below the top: the old one shows its last 10 px
    assert headers.tip_at(5).startswith("rank 0")
    assert headers.tip_at(15) == "rank 1\nnode · GPU\ncareful"
    headers.set_top(200)
    assert headers.tip_at(2).startswith("rank 1")
    assert headers.tip_at(150) == ""
    assert not headers.grab().isNull()


def test_the_border_of_the_header_column_can_be_dragged(headers: LaneHeaders, qtbot: QtBot) -> None:
    widths: list[int] = []
    headers.width_dragged.connect(widths.append)
    qtbot.mousePress(headers, LEFT, NONE, QPoint(218, 60))
    qtbot.mouseMove(headers, QPoint(180, 60))
    qtbot.mouseMove(headers, QPoint(5, 60))
    qtbot.mouseRelease(headers, LEFT, NONE, QPoint(180, 60))
    assert widths == [180, 110]


def pin(**how: float) -> NotePin:
    return NotePin(1, 100, 50, "a note", how.get("dx", 20.0), how.get("dy", 20.0))


def test_notes_stay_inside_the_canvas_and_wrap(qtbot: QtBot) -> None:
    area = QRectF(0, 0, 400, 200)
    assert note_rect(pin(), QFont(), area).topLeft() == QPointF(120, 70)
    for dx, dy in ((-500.0, 0.0), (500.0, 0.0), (0.0, 500.0), (0.0, -500.0)):
        assert area.contains(note_rect(pin(dx=dx, dy=dy), QFont(), area))
    long = NotePin(1, 0, 0, "word " * 60, 0, 0)
    assert note_rect(long, QFont(), QRectF(0, 0, 900, 900)).width() <= NOTE_WIDTH + 2


def test_everything_upon_the_lanes_paints_inside_the_area(qtbot: QtBot) -> None:
    image = QImage(300, 150, QImage.Format.Format_RGB32)
    image.fill(QColor("white"))
    overlay = Overlay(
        selected=QRectF(50, 40, 1, 20),
        gap=QRectF(100, 40, 150, 20),
        gap_text="gap 1 us",
        range=(20.0, 90.0, "70 ns"),
        arrows=[(QPointF(10, 10), QPointF(200, 100)), (QPointF(200, 100), QPointF(10, 10))],
        notes=[pin()],
        cursor_x=33.0,
        tip=Tip(290, 140, "a <b>name</b> " * 40, ("1 us", "x" * 500), Paint.COMM),
    )
    painter = QPainter(image)
    paint_overlay(painter, overlay, theme(), QFont(), QRectF(0, 0, 300, 150), 1)
    painter.end()
    assert image.pixelColor(50, 50) != QColor("white")  # a hair of a slice is still outlined
    assert image.pixelColor(33, 145) != QColor("white")
    assert image.pixelColor(25, 120) != QColor("white")  # the range


class Frames:
    """A source of one flat frame with one named box."""

    def __init__(self) -> None:
        self.overlay = Overlay()
        self.asked: list[tuple[int, int, float]] = []
        self.error: Exception | None = None

    def __call__(self, width: int, height: int, dpr: float) -> tuple[LaneFrame, Overlay] | None:
        self.asked.append((width, height, dpr))
        if self.error is not None:
            raise self.error
        shape = round(height * dpr), round(width * dpr)

        def draw(pixels: Pixels) -> None:
            pixels.array[...] = 0xFF336699

        one = np.zeros(1, np.int64)
        box = np.zeros(1), np.full(1, 147.0 * dpr), one + round(20 * dpr), one + round(20 * dpr)
        names = Names(*box, one, one, np.full(1, 0xFFFFFFFF, np.uint32), ["kernel"])
        frame = LaneFrame(shape, dpr, TimeRange(0, 100), 0, names, draw, lambda shape: np.zeros(shape, np.uint32))
        return frame, self.overlay


@pytest.fixture
def canvas(qtbot: QtBot) -> LanesCanvas:
    made = LanesCanvas(theme())
    qtbot.addWidget(made)
    made.resize(300, 120)
    made.show()
    return made


def test_the_canvas_shows_the_frame_of_its_size_with_names(canvas: LanesCanvas) -> None:
    frames = Frames()
    canvas.set_source(frames, stamp_names)
    shown = canvas.grab().toImage()
    assert frames.asked[-1][:2] == (300, 120)
    assert shown.pixelColor(250, 100) == QColor("#336699")
    inked = [x for x in range(150) if any(shown.pixelColor(x, y) != QColor("#336699") for y in range(20, 40))]
    assert 4 <= inked[0] < 12  # the name begins at the visible border of a slice that is cut


def test_without_frames_the_canvas_is_plain(canvas: LanesCanvas) -> None:
    canvas.set_source(lambda *_: None)
    assert canvas.grab().toImage().pixelColor(100, 60) == QColor(theme()["base"])


def test_an_error_while_painting_closes_the_painter(canvas: LanesCanvas) -> None:
    frames = Frames()
    canvas.set_source(frames, stamp_names)
    frames.error = ValueError("broken frame")
    with pytest.raises(ValueError, match="broken frame"):
        canvas.grab()
    frames.error = None
    assert canvas.grab().toImage().pixelColor(250, 100) == QColor("#336699")


@pytest.mark.parametrize("dpr", [1, 1.25, 2])
def test_scrolled_headers_are_those_that_are_painted_there(qtbot: QtBot, dpr: float) -> None:
    lanes = [lane(f"{number}/{k}", 30 if k == 1 else 1) for number in range(9) for k in range(3)]
    groups = [group(n, *lanes[3 * n : 3 * n + 3], warning="careful" if n == 4 else "") for n in range(9)]
    rows, y = [], 0
    for one in groups:
        for row, height in ((None, 28), *((made, 146 if made.sub_rows > 1 else 26) for made in one.lanes)):
            rows.append(PlacedRow(y, height, one, row, 5))
            y += height

    def shown() -> LaneHeaders:
        made = LaneHeaders(theme())
        qtbot.addWidget(made)
        made.resize(200, 300)
        made.set_rows(Placement(tuple(rows), y), frozenset(), frozenset({"2/1"}), frozenset(), {"0/2": True})
        made.set_counts({"1/0": 7})
        return made

    def picture(headers: LaneHeaders) -> QImage:
        image = QImage(round(200 * dpr), round(300 * dpr), QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(dpr)
        headers.render(image)
        return image

    moving = shown()
    for top in (0, 4, 40, 41, 33, 180, 120, 500, 496, 0, 900, 872):
        moving.set_top(top)
        fresh = shown()
        fresh.set_top(top)
        assert picture(moving) == picture(fresh), top
    moving.set_selected(None, frozenset({"4/2"}))
    assert picture(moving) != picture(fresh)


def test_a_small_shake_is_a_click_and_a_far_move_a_drag(canvas: LanesCanvas, qtbot: QtBot) -> None:
    clicks: list[QPointF] = []
    drags: list[tuple[float, float, bool]] = []
    canvas.clicked.connect(clicks.append)
    canvas.range_dragged.connect(lambda *a: drags.append(a))
    qtbot.mousePress(canvas, LEFT, NONE, QPoint(50, 50))
    qtbot.mouseMove(canvas, QPoint(51, 51))
    qtbot.mouseRelease(canvas, LEFT, NONE, QPoint(51, 51))
    assert len(clicks) == 1
    assert drags == []


def test_the_ruler_tells_its_labels_and_draws_a_cursor(qtbot: QtBot) -> None:
    ruler = Ruler(theme())
    qtbot.addWidget(ruler)
    ruler.resize(400, 26)
    plain = ruler.grab().toImage()
    ruler.set_ticks([(50.0, "1 ms", True, 0), (100.0, "", False, 0), (150.0, "2 ms", True, 0)], (200.0, 250.0))
    assert ruler.accessibleDescription() == "1 ms, 2 ms"
    ticked = ruler.grab().toImage()
    assert ticked != plain
    assert ticked.pixelColor(225, 5) != ticked.pixelColor(300, 5)
    ruler.set_cursor((300.0, "3.5 ms"))
    assert ruler.grab().toImage().pixelColor(300 - 20, 6) == QColor(theme()["accent"])


def test_a_label_of_the_axis_is_whole_or_not_there_beside_the_cursor(qtbot: QtBot) -> None:
    ruler = Ruler(theme())
    qtbot.addWidget(ruler)
    ruler.resize(400, 26)
    images = []
    for ticks in ([(150.0, "200 ms", True, 0)], [(150.0, "", True, 0)]):
        ruler.set_ticks(ticks, None)
        ruler.set_cursor((130.0, "168.705373 ms"))
        images.append(ruler.grab().toImage())
    assert images[0] == images[1], "the label begins below the cursor's"
    ruler.set_ticks([(150.0, "200 ms", True, 0)], None)
    ruler.set_cursor((50.0, "1 ms"))
    far = ruler.grab().toImage()
    ruler.set_ticks([(150.0, "", True, 0)], None)
    assert far != ruler.grab().toImage()


def test_the_minimap_keeps_a_window_that_can_be_grasped(qtbot: QtBot) -> None:
    minimap = Minimap(theme())
    qtbot.addWidget(minimap)
    minimap.resize(500, 40)
    minimap.set_image(np.full((32, 500), 0xFF00FF00, np.uint32), 1.0)
    minimap.set_window(0.5, 0.5000001)
    assert minimap.window_rect().width() >= 6
    minimap.set_window(0.2, 0.6)
    shown = minimap.grab().toImage()
    assert shown.pixelColor(200, 20) == QColor(0, 255, 0)
    assert shown.pixelColor(400, 20) != QColor(0, 255, 0)
    moved: list[float] = []
    resized: list[tuple[float, float]] = []
    minimap.moved.connect(moved.append)
    minimap.resized.connect(lambda *a: resized.append(a))
    qtbot.mousePress(minimap, LEFT, NONE, QPoint(200, 20))
    qtbot.mouseMove(minimap, QPoint(250, 20))
    qtbot.mouseRelease(minimap, LEFT, NONE, QPoint(250, 20))
    assert moved == [pytest.approx(0.5)]
    qtbot.mousePress(minimap, LEFT, NONE, QPoint(100, 20))
    qtbot.mouseMove(minimap, QPoint(50, 20))
    qtbot.mouseRelease(minimap, LEFT, NONE, QPoint(50, 20))
    assert resized == [(pytest.approx(0.1), 0.6)]


def test_the_legend_leaves_out_what_does_not_fit(qtbot: QtBot) -> None:
    legend = Legend(theme())
    qtbot.addWidget(legend)
    paints = (Paint.COMPUTE, Paint.COMM)
    legend.set_swatches([Swatch(PAINT_NAMES[p], theme().paints[p], int(p)) for p in paints])
    legend.set_hint("keys")
    assert legend.accessibleDescription() == "compute, communication"
    for width, shown in ((600, True), (90, False)):
        legend.resize(width, 22)
        image = legend.grab().toImage()
        colors = {image.pixelColor(x, 11).name() for x in range(width)}
        assert theme().paints[Paint.COMPUTE] in colors
        assert (theme().paints[Paint.COMM] in colors) is shown


def test_the_lanes_are_framed_when_a_key_brought_the_focus(qtbot: QtBot) -> None:
    canvas = LanesCanvas(theme())
    qtbot.addWidget(canvas)
    for reason, framed in ((Qt.FocusReason.TabFocusReason, True), (Qt.FocusReason.MouseFocusReason, False)):
        QApplication.sendEvent(canvas, QFocusEvent(QEvent.Type.FocusIn, reason))
        assert canvas.framed is framed
    QApplication.sendEvent(canvas, QFocusEvent(QEvent.Type.FocusIn, Qt.FocusReason.BacktabFocusReason))
    QApplication.sendEvent(canvas, QFocusEvent(QEvent.Type.FocusOut))
    assert not canvas.framed
