"""Names inside slices: shortened sensibly, elided to their box, and cached as laid-out text."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetricsF, QStaticText, QTransform

_MOST: Final = 6000
_STEP_PX: Final = 6
_GENERIC: Final = ("kernel", "kernel2", "device_kernel", "kernel_entry")
_FEWEST: Final = 4
"""A name of which fewer letters would be left says nothing and is not drawn."""


def short_name(name: str) -> str:
    """The telling part of a C++ name: without return type, namespaces, template arguments and parameters.

    NCCL's kernels lose their common prefix. Other names stay as they are.
    """
    text = name.removeprefix("void ").removeprefix("ncclDevKernel_").removeprefix("ncclKernel_")
    if "::" not in text and "<" not in text and "(" not in text:
        return text
    head = text
    for stop in ("<", "("):
        at = head.find(stop)
        if at > 0:
            head = head[:at]
    tail = head.rsplit("::", 1)[-1].strip()
    if tail.lower() in _GENERIC and text[len(head) :].startswith("<"):
        return text[len(head) + 1 :]  # cutlass::Kernel<what it is>(...)
    return tail if len(tail) > 1 and " " not in tail else text


class LabelCache:
    """Laid-out texts by (text, width). One font each; cleared when it grows too large."""

    def __init__(self, font: QFont) -> None:
        self.font = font
        self._metrics = QFontMetricsF(font)
        self._texts: dict[tuple[str, int], QStaticText | None] = {}
        self._full: dict[str, float] = {}
        self.height = self._metrics.height()

    def fit(self, text: str, width: float) -> QStaticText | None:
        """The text as far as it fits; None when not even two letters do."""
        full = self._full.get(text)
        if full is None:
            if len(self._full) > _MOST:
                self._full.clear()
            full = self._full[text] = self._metrics.horizontalAdvance(text[:400])
        # Widths in steps: while zooming, most labels stay what they were.
        step = -1 if full <= width else int(width) // _STEP_PX
        key = (text, step)
        if key in self._texts:
            return self._texts[key]
        if len(self._texts) > _MOST:
            self._texts.clear()
        shown = text if step < 0 else self._elided(text, step * _STEP_PX)
        made: QStaticText | None = None
        if shown:
            made = QStaticText(shown)
            made.setTextFormat(Qt.TextFormat.PlainText)
            made.setPerformanceHint(QStaticText.PerformanceHint.AggressiveCaching)
            made.prepare(QTransform(), self.font)
        self._texts[key] = made
        return made

    def _elided(self, text: str, width: float) -> str:
        short = short_name(text[:400])
        if self._metrics.horizontalAdvance(short) <= width:
            return short
        elided = self._metrics.elidedText(short, Qt.TextElideMode.ElideRight, width)
        return elided if len(elided) > _FEWEST else ""
