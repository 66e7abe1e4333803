"""Fitting of texts into room: elision in the middle and wrapping, with any measure of widths."""

from __future__ import annotations

from viewer.base.names import short_name
from viewer.base.scene import Font, Measure
from viewer.base.units import NBSP

ELLIPSIS = "…"


class Fitter:
    """Fits texts with one measure of widths; remembers what it measured."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._widths: dict[tuple[str, Font], float] = {}

    def width(self, text: str, font: Font) -> float:
        """Width in logical px."""
        key = (text, font)
        found = self._widths.get(key)
        if found is None:
            found = self._widths[key] = self._measure(text, font)
        return found

    def elide(self, text: str, font: Font, room: float, least: int = 4) -> str:
        """The text itself, or its head and tail around an ellipsis, as long as fits; "" when fewer than ``least`` do.

        The middle goes, because kernel names differ at their ends.
        """
        if self.width(text, font) <= room:
            return text
        low, high = 0, len(text) - 1
        while low < high:
            keep = (low + high + 1) // 2
            if self._measure(_cut(text, keep), font) <= room:
                low = keep
            else:
                high = keep - 1
        return _cut(text, low) if low >= least else ""

    def name(self, text: str, font: Font, room: float, least: int = 4) -> str:
        """A kernel's or function's name: whole if it fits, else without its parameters, else its telling part.

        The last is elided as need be.
        """
        for words in (text, bare_name(text)):
            if self.width(words, font) <= room:
                return words
        return self.elide(short_name(text), font, room, least)

    def wrap(self, text: str, font: Font, room: float, most: int) -> list[str]:
        """Lines of at most ``room`` px, broken at spaces, words longer than a line elided; ``most`` lines at most.

        Line breaks of the text are kept. What does not fit into the last line is elided in its middle.
        """
        lines: list[str] = []
        for paragraph in text.splitlines():
            lines.extend(self._join(paragraph.split(), " ", font, room))
        if len(lines) > most:
            lines = [*lines[: most - 1], self.elide(" ".join(lines[most - 1 :]), font, room)]
        return lines

    def flow(self, parts: list[str], font: Font, room: float, separator: str = "  ·  ") -> list[str]:
        """Parts in lines; a part is never torn apart while it fits a line by itself, else it is elided."""
        return self._join(parts, separator, font, room)

    def _join(self, parts: list[str], separator: str, font: Font, room: float) -> list[str]:
        lines: list[str] = []
        for part in parts:
            if lines and self.width(lines[-1] + separator + part, font) <= room:
                lines[-1] += separator + part
            else:
                lines.append(self.elide(part, font, room))
        return lines


def _cut(text: str, keep: int) -> str:
    head = (keep + 1) // 2
    return text[:head].rstrip() + ELLIPSIS + (text[len(text) - (keep - head) :].lstrip() if keep > head else "")


def bare_name(text: str) -> str:
    """A C++ function's name without ``void`` and its parameter list; other texts as they are.

    ``"void f<g(1)>(int, T*)"`` -> ``"f<g(1)>"``.
    """
    if not text.endswith(")"):
        return text
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            # A space before it: words in brackets ("Memcpy HtoD (Pinned -> Device)"), no parameters.
            bare = text[:at]
            return bare.removeprefix("void ") if bare and not bare.endswith(" ") else text
    return text


def one_line(text: str) -> str:
    """A text from a file as it is drawn: control characters and line breaks shown as escapes or spaces."""
    return "".join(c if c.isprintable() or c == NBSP else " " if c in "\t\n\r" else f"\\x{ord(c):02x}" for c in text)
