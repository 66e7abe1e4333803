"""The canvas of the timeline: shows an image of the lanes with names and marks upon it, and says what the mouse did.

It draws what its source hands over and interprets nothing: a click is a point, a drag is two points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QEnterEvent,
    QFocusEvent,
    QFont,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QGestureEvent, QPinchGesture, QWidget

from viewer.base.frames import LaneFrame
from viewer.base.theme import Theme
from widgets.font_scale import scaled
from widgets.lane_hover import Hover
from widgets.lane_overlay import NotePin, Overlay, note_rect, paint_overlay
from widgets.lane_pixels import LanePixels, Stamp
from widgets.painted import PaintedWidget

Source = Callable[[int, int, float], tuple[LaneFrame, Overlay] | None]
"""(width, height, device pixel ratio) -> what to show now; None while there is nothing."""

_NOTCH: Final = 120.0

_BY_KEY: Final = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)


class LanesCanvas(PaintedWidget):
    """Draws lanes. All coordinates in signals are logical px of the canvas.

    Signals:
        zoomed(float steps, float x): notches of the wheel with Ctrl; positive zooms in.
        pinched(float factor, float x): two fingers moved apart (> 1) or together.
        panned(float px): the view moves by so many px; positive shows later times.
        scrolled(float px): the content moves up by so many px.
        clicked(QPointF), double_clicked(QPointF): with the left button.
        range_dragged(float x0, float x1, bool done): a drag with the left button, x0 <= x1.
        rect_dragged(object, bool done): QRectF of a drag with Alt or the right button; None when it was given up.
        menu_requested(object): QPointF of a right click.
        travelled(int): the mouse's back (-1) or forward (1) button.
        pointed(object): QPointF under the mouse, None when it left.
        note_moved(int id, float dx, float dy): new offset of a note's box from its anchor.
        note_edited(int id), note_removed(int id)
        shown(): lanes were drawn for the first time.
    """

    zoomed = Signal(float, float)
    panned = Signal(float)
    scrolled = Signal(float)
    clicked = Signal(QPointF)
    double_clicked = Signal(QPointF)
    range_dragged = Signal(float, float, bool)
    rect_dragged = Signal(object, bool)
    menu_requested = Signal(object)
    travelled = Signal(int)
    pinched = Signal(float, float)
    pointed = Signal(object)
    note_moved = Signal(int, float, float)
    note_edited = Signal(int)
    note_removed = Signal(int)
    shown = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("lanes")
        self.setAccessibleName("Lanes")
        self.setAccessibleDescription("Swimlanes of all ranks. W and S zoom, A and D pan, click selects.")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.grabGesture(Qt.GestureType.PinchGesture)
        self.setMinimumSize(120, 60)
        self.framed = False
        self._source: Source | None = None
        self._pixels = LanePixels()
        self._whole = True
        self._hover: Hover | None = None
        self.has_shown = False  # whether there were lanes to draw by now
        self._notes: list[NotePin] = []
        self._active_note: int | None = None
        self._press: QPointF | None = None
        self._last = QPointF()
        self._doing = ""  # "", "press", "range", "pan", "note", "alt", "menu", "rect"
        self._turned = 0.0  # part of a px that the wheel turned and nothing moved yet
        self._note_grip = QPointF()
        self._note_offset: QPointF | None = None
        self._idle_cursor = Qt.CursorShape.ArrowCursor
        self.set_theme(theme)

    def set_source(self, source: Source, stamp: Stamp | None = None) -> None:
        """Where frames come from (called in every paint), and what blends names into them."""
        self._source = source
        self._pixels.set_stamp(stamp)
        self.update()

    @property
    def pressed(self) -> QPointF | None:
        """Where the button went down for what goes on now."""
        return self._press

    @property
    def dragging(self) -> bool:
        """Whether something is dragged; a press that may still be a click is none."""
        return self._doing in ("range", "pan", "note", "rect")

    def set_idle_cursor(self, shape: Qt.CursorShape) -> None:
        """The pointer's shape while nothing is dragged."""
        self._idle_cursor = shape
        if not self.dragging:
            self.setCursor(shape)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours and lay out names anew."""
        self._theme = theme
        self._make_fonts()
        self.update()

    def _make_fonts(self) -> None:
        self._font = QFont(self.font())
        self._font.setPixelSize(scaled(12))
        self._pixels.set_font(self.font())

    def sizeHint(self) -> QSize:
        """A comfortable size."""
        return QSize(900, 500)

    # painting

    def follow_pointer(self) -> None:
        """The pointer moved: paint what follows it, and everything only where more has changed."""
        shown = self._source(self.width(), self.height(), self.devicePixelRatioF()) if self._source else None
        before, region = self._hover, None
        if shown is not None and before is not None:
            region = Hover.of(*shown, self._font, QRectF(self.rect())).changed(before)
        if region is None:
            self.update()
        else:
            self.update(region)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint all of it, or what the pointer left behind."""
        region = event.region()
        self._whole = region.rectCount() == 1 and region.boundingRect() == self.rect()
        super().paintEvent(event)

    def paint(self, painter: QPainter) -> None:
        """Draw the frame of the moment; the painter is closed whatever happens."""
        shown = self._source(self.width(), self.height(), self.devicePixelRatioF()) if self._source else None
        if shown is None:
            painter.fillRect(self.rect(), QColor(self._theme["base"]))
            return
        frame, overlay = shown
        if not self._whole and (self._hover is None or self._hover.frame is not frame):
            self.update()  # something else changed since this part was asked for
        self._hover = Hover.of(frame, replace(overlay, notes=list(overlay.notes)), self._font, QRectF(self.rect()))
        if not float(frame.dpr).is_integer():  # the canvas may end in the middle of a pixel, the frame does not
            base, width, height = QColor(self._theme["base"]), self.width(), self.height()
            painter.fillRect(QRectF(width - 1, 0, 1, height), base)
            painter.fillRect(QRectF(0, height - 1, width, 1), base)
        self._pixels.show(painter, frame, whole=self._whole)
        if self._pixels.missing:
            self.update()
        self._notes = [self._dragged(n) for n in overlay.notes]
        overlay.notes = self._notes
        paint_overlay(painter, overlay, self._theme, self._font, QRectF(self.rect()), self._active_note)
        if self.framed:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(self._theme["accent"]), 2))
            painter.drawRect(QRectF(self.rect()).adjusted(1, 1, -1, -1))
        if not self.has_shown:
            self.has_shown = True
            self.shown.emit()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """A focus that came by key is framed; who clicked knows where the focus is."""
        self.framed = event.reason() in _BY_KEY
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """No frame without the focus."""
        self.framed = False
        super().focusOutEvent(event)
        self.update()

    # notes

    def _dragged(self, note: NotePin) -> NotePin:
        if self._doing == "note" and note.id == self._active_note and self._note_offset is not None:
            return NotePin(note.id, note.x, note.y, note.text, self._note_offset.x(), self._note_offset.y())
        return note

    def _note_at(self, at: QPointF) -> NotePin | None:
        area = QRectF(self.rect())
        return next((n for n in reversed(self._notes) if note_rect(n, self._font, area).contains(at)), None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Delete removes the note that was clicked last; other keys are for the panel."""
        if self._active_note is not None and event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            note, self._active_note = self._active_note, None
            self.note_removed.emit(note)
            self.update()
        else:
            event.ignore()

    # mouse

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Ctrl zooms at the cursor, Shift pans, plain scrolls; touchpads give pixels."""
        pixels, angle = event.pixelDelta(), event.angleDelta()
        dx = float(pixels.x()) if not pixels.isNull() else angle.x() / _NOTCH * 60
        dy = float(pixels.y()) if not pixels.isNull() else angle.y() / _NOTCH * 60
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            turned = (angle.y() or angle.x()) / _NOTCH or (dy or dx) / 60
            self.zoomed.emit(turned, event.position().x())
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.panned.emit(-2 * (dy or dx))
        else:
            if dx:
                self.panned.emit(-dx)
            self._turned -= dy  # fine wheels give less than a px at a time
            whole = int(self._turned)
            self._turned -= whole
            if whole:
                self.scrolled.emit(float(whole))
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a click, a drag, a pan, or the move of a note."""
        at = event.position()
        button, shift = event.button(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if button in (Qt.MouseButton.BackButton, Qt.MouseButton.ForwardButton):
            self.travelled.emit(-1 if button == Qt.MouseButton.BackButton else 1)
            return
        if self._doing:
            return  # a second button while the first one drags
        self._press = self._last = at
        if button == Qt.MouseButton.RightButton:
            self._doing = "menu"
        elif button == Qt.MouseButton.LeftButton and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self._doing = "alt"
        elif button == Qt.MouseButton.MiddleButton or (button == Qt.MouseButton.LeftButton and shift):
            self._doing = "pan"
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        elif button == Qt.MouseButton.LeftButton:
            note = self._note_at(at)
            self._active_note = note.id if note else None
            self._doing = "press"
            if note is not None:
                self._doing = "note"
                box = note_rect(note, self._font, QRectF(self.rect()))
                self._note_grip = at - box.topLeft()
                self._note_offset = None
            self.update()
        else:
            self._doing = ""

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Continue what the press began, else tell what is pointed at."""
        at = event.position()
        if self._doing == "pan":
            self.panned.emit(self._last.x() - at.x())
            if self._last.y() != at.y():
                self.scrolled.emit(self._last.y() - at.y())
        elif self._doing == "note":
            note = next((n for n in self._notes if n.id == self._active_note), None)
            if note is not None and self._far(at):
                self._note_offset = at - self._note_grip - QPointF(note.x, note.y)
                self.update()
        elif self._doing == "range" or (self._doing == "press" and self._far(at)):
            assert self._press is not None
            self._doing = "range"
            self.range_dragged.emit(min(self._press.x(), at.x()), max(self._press.x(), at.x()), False)
        elif self._doing == "rect" or (self._doing in ("alt", "menu") and self._far(at)):
            assert self._press is not None
            self._doing = "rect"
            self.setCursor(Qt.CursorShape.CrossCursor)
            self.rect_dragged.emit(self._rect_to(at), False)
        over_note = self._doing == "" and self._note_at(at) is not None
        if self._doing in ("", "range"):
            self.setCursor(Qt.CursorShape.OpenHandCursor if over_note else self._idle_cursor)
        self.pointed.emit(None if over_note or self._doing == "note" else at)
        self._last = at

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End it."""
        at = event.position()
        if event.buttons() & (Qt.MouseButton.LeftButton | Qt.MouseButton.MiddleButton | Qt.MouseButton.RightButton):
            return  # another button is still down
        doing, self._doing = self._doing, ""
        if doing == "pan":
            self.setCursor(self._idle_cursor)
        elif doing == "note" and self._note_offset is not None and self._active_note is not None:
            offset, self._note_offset = self._note_offset, None
            self.note_moved.emit(self._active_note, offset.x(), offset.y())
        elif doing == "range" and self._press is not None:
            self.range_dragged.emit(min(self._press.x(), at.x()), max(self._press.x(), at.x()), True)
        elif doing in ("press", "alt"):
            self.clicked.emit(at)
        elif doing == "rect" and self._press is not None:
            self.setCursor(self._idle_cursor)
            self.rect_dragged.emit(self._rect_to(at), True)
        elif doing == "menu":
            self.menu_requested.emit(at)
        self._press = None

    def cancel_drag(self) -> bool:
        """Give up what is being dragged; whether there was anything."""
        doing, self._doing = self._doing, ""
        self._note_offset = None
        self.setCursor(self._idle_cursor)
        if doing == "rect":
            self.rect_dragged.emit(None, False)
        return doing not in ("", "press", "menu", "alt")

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """The mouse asks when its button goes up: until then it may become a drag. The keyboard is for the panel."""
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            event.ignore()

    def event(self, event: QEvent) -> bool:
        """Two fingers zoom: on a touchpad, or on the screen."""
        if isinstance(event, QNativeGestureEvent) and event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
            self.pinched.emit(math.exp(event.value()), event.position().x())
            return True
        if isinstance(event, QGestureEvent):
            pinch = event.gesture(Qt.GestureType.PinchGesture)
            if isinstance(pinch, QPinchGesture):
                centre = self.mapFromGlobal(pinch.hotSpot() if pinch.hasHotSpot() else pinch.centerPoint())
                self.pinched.emit(pinch.scaleFactor(), centre.x())
                event.accept(pinch)
                return True
        return super().event(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Edit a note, or report the place."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        note = self._note_at(event.position())
        self._doing = ""
        if note is not None:
            self.note_edited.emit(note.id)
        else:
            self.double_clicked.emit(event.position())

    def enterEvent(self, event: QEnterEvent) -> None:
        """The mouse came in."""
        self.pointed.emit(event.position())

    def leaveEvent(self, _: QEvent) -> None:
        """The mouse left."""
        self.pointed.emit(None)

    def changeEvent(self, event: QEvent) -> None:
        """Another font means other label widths."""
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_theme"):
            self._make_fonts()
            self.update()
        super().changeEvent(event)

    def _rect_to(self, at: QPointF) -> QRectF:
        assert self._press is not None
        x, y = (min(max(v, 0.0), float(most)) for v, most in ((at.x(), self.width()), (at.y(), self.height())))
        return QRectF(self._press, QPointF(x, y)).normalized()  # not cut: a level drag has no height

    def _far(self, at: QPointF) -> bool:
        assert self._press is not None
        return (at - self._press).manhattanLength() >= QApplication.startDragDistance() // 2
