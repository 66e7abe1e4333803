"""The look of the whole application: Fusion with a theme's colours, switched live; "system" follows the desktop."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from viewer.app.themes import CHOICES, load_theme
from viewer.base.theme import Theme
from widgets.theming import color, mix, palette_of


def application_palette(theme: Theme) -> QPalette:
    """Every role that Fusion paints with; the panels' roles are those of :func:`widgets.theming.palette_of`."""
    palette = palette_of(theme)
    roles = QPalette.ColorRole
    button, line, window = color(theme, "button"), color(theme, "line"), color(theme, "window")
    for role, value in (
        (roles.ToolTipBase, color(theme, "group")),
        (roles.ToolTipText, color(theme, "text")),
        (roles.Light, mix(button, color(theme, "text"), 0.06)),
        (roles.Midlight, mix(button, line, 0.5)),
        (roles.Mid, line),
        (roles.Dark, mix(line, color(theme, "text"), 0.12)),
        (roles.Shadow, mix(window, color(theme, "text"), 0.4 if not theme.dark else 0.05)),
        (roles.BrightText, color(theme, "error")),
        (roles.Accent, color(theme, "accent")),
        (roles.LinkVisited, color(theme, "accent")),
    ):
        palette.setColor(role, value)
    return palette


class Appearance(QObject):
    """Applies the chosen theme to the application.

    Signals:
        changed(Theme): another theme is in use (by choice, or because the desktop switched).
    """

    changed = Signal(object)

    def __init__(self, choice: str = "system", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._choice = choice if choice in CHOICES else "system"
        self._theme = load_theme(self._resolve())
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._desktop_changed)
        self._apply()

    @property
    def choice(self) -> str:
        """What the user chose: "system", "light" or "dark"."""
        return self._choice

    @property
    def theme(self) -> Theme:
        """The theme in use."""
        return self._theme

    def choose(self, choice: str) -> None:
        """Use another theme from now on."""
        if choice not in CHOICES:
            raise ValueError(f"no theme {choice!r}")
        self._choice = choice
        self._update()

    def _desktop_changed(self, _: Qt.ColorScheme) -> None:
        if self._choice == "system":
            self._update()

    def _update(self) -> None:
        theme = load_theme(self._resolve())
        if theme is not self._theme:
            self._theme = theme
            self._apply()
            self.changed.emit(theme)

    def _resolve(self) -> str:
        if self._choice != "system":
            return self._choice
        dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
        return "dark" if dark else "light"

    def _apply(self) -> None:
        app = QApplication.instance()
        if not isinstance(app, QApplication):
            return
        if app.style().name().lower() != "fusion":
            app.setStyle("Fusion")
        app.setPalette(application_palette(self._theme))
