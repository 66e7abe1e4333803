"""Errors that carry what a person needs: which file, where in it, and what to do next."""

from __future__ import annotations

MOST_TEXT = 600
"""Characters of a problem or a place that are shown: names in them come from files."""


def on_one_line(text: str, most: int = MOST_TEXT) -> str:
    """Text that may come from a file: control characters escaped, at most ``most`` characters."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: most + 1])
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def quoted(text: str, most: int = 60) -> str:
    """What a person typed, in quotes: escaped as Python writes it, its first ``most`` characters."""
    return repr(text if len(text) <= most else f"{text[: most - 1]}…")


class RankscopeError(Exception):
    """Base of every error that is shown as one sentence instead of a stack trace."""


class InputError(RankscopeError):
    """A named input cannot be opened.

    Args:
        path: the file as the user named it.
        problem: what is wrong, without the path ("is empty").
        where: the place in the file ("byte 1024", "line 3"), or "" when the whole file is meant.
        next_step: what the user can do.
    """

    def __init__(self, path: str, problem: str, where: str = "", next_step: str = "") -> None:
        self.path, self.problem, self.where, self.next_step = path, problem, where, next_step
        super().__init__(self.sentence())

    def sentence(self) -> str:
        """One line: path, place, problem, next step. Control characters are escaped."""
        shown = on_one_line(self.path, 4_200)
        place = f" at {on_one_line(self.where)}" if self.where else ""
        step = f" {self.next_step}" if self.next_step else ""
        return f"{shown}{place}: {on_one_line(self.problem.rstrip('.'))}.{step}"


class UnreadableError(InputError):
    """An input that may well be a trace cannot be read: the system does not let us, or it is damaged in a pack."""


class UsageError(RankscopeError):
    """The call itself is wrong (an unknown option value, a window that ends before it begins)."""


class Cancelled(RankscopeError):
    """The work was cancelled on request; not a failure."""
