"""Pixels of rows that scroll: what was painted moves with them, so that only what comes into sight is painted anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtGui import QPainter, QPixmap

Span = tuple[int, int]
"""(first, stop): heights of the widget in logical px."""


class ScrollLayer:
    """What a widget shows of rows, scrolled by ``top`` logical px."""

    def __init__(self) -> None:
        self._pixels: QPixmap | None = None
        self._of: tuple[QSize, float] | None = None
        self._top = 0

    def forget(self) -> None:
        """The rows look different: all is painted anew."""
        self._of = None

    def show(
        self,
        painter: QPainter,
        size: QSize,
        dpr: float,
        top: int,
        paint: Callable[[QPainter, Span], None],
        unlike: Sequence[Span] = (),
    ) -> None:
        """Paint the rows.

        Args:
            painter: where they show, from its origin on.
            size: logical px.
            dpr: device pixels per logical px.
            top: how far the rows are scrolled.
            paint: paints what lies between two heights, all of it, as the rows are scrolled now.
            unlike: heights of rows that look different when they are scrolled.
        """
        key, by = (size, dpr), top - self._top
        left = round(by * dpr)
        if self._pixels is None or key != self._of or left != by * dpr or abs(by) >= size.height():
            spans: list[Span] = [(0, size.height())]
            if self._pixels is None or key != self._of:
                self._pixels = QPixmap(round(size.width() * dpr), round(size.height() * dpr))
                self._pixels.setDevicePixelRatio(dpr)
        elif by:
            self._pixels.scroll(0, -left, self._pixels.rect())
            spans = [(size.height() - by, size.height()) if by > 0 else (0, -by), *unlike]
        else:
            spans = []
        self._of, self._top = key, top
        if spans:
            inner = QPainter(self._pixels)
            try:
                for first, stop in spans:
                    inner.setClipRect(QRect(0, first, size.width(), stop - first))
                    paint(inner, (first, stop))
            finally:
                inner.end()
        painter.drawPixmap(QPoint(0, 0), self._pixels)
