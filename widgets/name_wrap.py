"""Long names broken into lines where code may be broken, before anywhere else."""

from __future__ import annotations

import re
from typing import Final

from PySide6.QtGui import QFont, QTextLayout, QTextOption

_MAY_BREAK: Final = "\u200b"
"""Zero width space: tells the layout that a line may end here, whatever stands before and after."""
_PLACES: Final = re.compile(r"(?:::|(?<!\s)\(|[<,_])(?=\S)")
_NO_BREAK: Final = "\u2060"
"""Word joiner: no line ends here."""
_OPTION: Final = re.compile(r"(?<![\w-])--?\w[\w-]*")
"""An option of a command: torn after its hyphens, or at one inside, nobody could read or type it."""


def wrap_name(text: str, font: QFont, width: float, most: int = 0) -> tuple[list[str], bool]:
    """Lines of at most ``width`` px, broken after ``(``, ``<``, ``,``, ``::``, ``_`` or a space where possible.

    An option of a command (``--numa-binding``) stays whole; a part that is wider than a line is broken anywhere. Line
    breaks of the text are kept.

    Args:
        text: any text; never markup.
        font: what it will be drawn with.
        width: px of a line.
        most: lines at most, 0 for no limit.

    Returns:
        The lines, and whether some of the text was left out.
    """
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    lines: list[str] = []
    for paragraph in text.split("\n"):
        marked = _PLACES.sub(lambda m: m[0] + _MAY_BREAK, paragraph)
        marked = _OPTION.sub(lambda m: m[0].replace("-", "-" + _NO_BREAK), marked)
        layout = QTextLayout(marked, font)
        layout.setTextOption(option)
        layout.beginLayout()
        try:
            while (line := layout.createLine()).isValid():
                line.setLineWidth(max(1.0, width))
                if most and len(lines) == most:
                    return lines, True
                start = line.textStart()
                shown = marked[start : start + line.textLength()]
                lines.append(shown.replace(_MAY_BREAK, "").replace(_NO_BREAK, ""))
        finally:
            layout.endLayout()
    return lines, False
