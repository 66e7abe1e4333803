"""What follows the pointer upon the lanes, and where it lies: so little is painted anew while nothing else changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFont, QRegion

from viewer.base.frames import LaneFrame
from widgets.lane_overlay import Overlay, lay_out_tip

_AIR: Final = 3.0
"""Lines and their soft borders reach that far beyond where they lie."""
_SNAP: Final = 6.0


@dataclass(frozen=True, slots=True)
class Hover:
    """A frame as it is painted: what does not follow the pointer, and the region of what does."""

    frame: LaneFrame
    rest: Overlay
    region: QRegion

    @classmethod
    def of(cls, frame: LaneFrame, overlay: Overlay, font: QFont, area: QRectF) -> Hover:
        """Take an overlay apart."""
        boxes = []
        if overlay.cursor_x is not None:
            boxes.append(QRectF(overlay.cursor_x, area.top(), 0, area.height()))
        if overlay.tip is not None:
            boxes.append(lay_out_tip(overlay.tip, font, area).box)
        if overlay.snap is not None:
            boxes.append(QRectF(overlay.snap, overlay.snap).adjusted(-_SNAP, -_SNAP, _SNAP, _SNAP))
        region = QRegion()
        for box in boxes:
            region += box.adjusted(-_AIR, -_AIR, _AIR, _AIR).toAlignedRect()
        return cls(frame, replace(overlay, cursor_x=None, tip=None, snap=None), region)

    def changed(self, before: Hover) -> QRegion | None:
        """What is to be painted anew after another one; None for everything."""
        if self.frame is not before.frame or self.rest != before.rest:
            return None
        return before.region + self.region
