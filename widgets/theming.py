"""A theme as Qt colours and palettes, and safe tooltips: what the panels' controls share."""

from __future__ import annotations

import html

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPalette, QPen
from PySide6.QtWidgets import QWidget

from viewer.base.ids import Paint
from viewer.base.theme import Theme

TIP_LIMIT = 4_000
"""Characters of a tooltip; template names of kernels can be far longer than a screen."""


def color(theme: Theme, token: str) -> QColor:
    """A colour of the theme."""
    return QColor(theme[token])


def paint_color(theme: Theme, paint: Paint) -> QColor:
    """The fill of a class."""
    return QColor(theme.paints[paint])


def mix(a: QColor, b: QColor, share: float) -> QColor:
    """``a`` with ``share`` (0..1) of ``b`` in it."""
    return QColor(
        round(a.red() + (b.red() - a.red()) * share),
        round(a.green() + (b.green() - a.green()) * share),
        round(a.blue() + (b.blue() - a.blue()) * share),
    )


def palette_of(theme: Theme) -> QPalette:
    """The palette of a panel and everything in it."""
    palette = QPalette()
    roles = QPalette.ColorRole
    for role, token in (
        (roles.Window, "window"),
        (roles.WindowText, "text"),
        (roles.Base, "base"),
        (roles.AlternateBase, "alternate"),
        (roles.Text, "text"),
        (roles.Button, "button"),
        (roles.ButtonText, "text"),
        (roles.Highlight, "selection_fill"),
        (roles.HighlightedText, "text"),
        (roles.Link, "accent"),
        (roles.PlaceholderText, "muted"),
        (roles.Mid, "line"),
        (roles.Dark, "line"),
    ):
        palette.setColor(role, color(theme, token))
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, color(theme, "muted"))
    return palette


def safe_tip(text: str) -> str:
    """A tooltip that shows ``text`` as it is: Qt would take some kernel names for HTML."""
    if not text:
        return ""
    shown = text if len(text) <= TIP_LIMIT else text[:TIP_LIMIT] + "…"
    return f'<p style="white-space:pre-wrap">{html.escape(shown)}</p>'


def set_tip(widget: QWidget, text: str) -> None:
    """Give a widget a tooltip of plain text."""
    tip = safe_tip(text)
    if widget.toolTip() != tip:
        widget.setToolTip(tip)


def set_shown(widget: QWidget, shown: bool) -> None:
    """Show or hide a widget; one that is as it should be is not touched (each call costs a layout).

    A new widget counts as hidden until its layout shows it, so it is told in any case.
    """
    if widget.isHidden() == shown or not widget.testAttribute(Qt.WidgetAttribute.WA_WState_ExplicitShowHide):
        widget.setVisible(shown)


def fill_idle(painter: QPainter, theme: Theme, rect: QRectF) -> None:
    """Paint idle time: hatched, so that it is no class even without colours."""
    painter.fillRect(rect, color(theme, "gap"))
    ink = mix(color(theme, "gap"), color(theme, "muted"), 0.55)
    painter.save()
    painter.setClipRect(rect, Qt.ClipOperation.IntersectClip)
    painter.setPen(QPen(ink, 1.0))
    step, height = 6.0, rect.height()
    x = rect.left() - height
    while x < rect.right():
        painter.drawLine(int(x), int(rect.bottom()), int(x + height), int(rect.top()))
        x += step
    painter.restore()
