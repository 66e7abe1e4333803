"""Notes: text callouts that a person puts on the timeline, as an immutable book and as ``--note`` texts.

A change makes a new book, so an undo stack keeps the old one and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from viewer.base.errors import UsageError, quoted
from viewer.base.kept import Note, SliceAnchor
from viewer.base.time import parse_duration

if TYPE_CHECKING:
    from viewer.base.frames import LaneGroup, LaneRow

MAX_TEXT: Final = 500
MAX_NOTES: Final = 1_000
ANY_LANE: Final = ""
"""``Note.lane`` of a note that belongs to an instant and to no lane."""

_FORM: Final = 'write "TIME:TEXT" or "TIME@LANE:TEXT", for example "12.5ms:slow all-reduce"'
_SHOWN_LANES: Final = 6


@dataclass(frozen=True, slots=True)
class NoteBook:
    """All notes of a job, in order of making. Ids are never used twice, not even after a removal."""

    notes: tuple[Note, ...] = ()
    next_id: int = 1

    def __iter__(self) -> Iterator[Note]:
        return iter(self.notes)

    def __len__(self) -> int:
        return len(self.notes)

    def get(self, note_id: int) -> Note:
        """The note of that id. Raises KeyError when there is none (any more)."""
        for note in self.notes:
            if note.id == note_id:
                return note
        raise KeyError(note_id)

    def add(
        self,
        time_ns: int,
        lane: str,
        text: str,
        dx: float | None = None,
        dy: float | None = None,
        anchor: SliceAnchor | None = None,
        depth: int = 0,
    ) -> NoteBook:
        """A book with one more note at the end; raises UsageError for an empty text or a full book.

        Args:
            time_ns: anchor, session time.
            lane: LaneRow key, or ANY_LANE.
            text: cleaned as :func:`clean_text` does.
            dx: offset of the box from its anchor in px; None for the default place.
            dy: as dx.
            anchor: the slice that it speaks of.
            depth: the sub-row of that slice.
        """
        if len(self.notes) >= MAX_NOTES:
            raise UsageError(f"there are {MAX_NOTES} notes already: remove one first.")
        note = Note(self.next_id, time_ns, lane, clean_text(text))
        note = replace(note, dx=note.dx if dx is None else dx, dy=note.dy if dy is None else dy)
        note = replace(note, slice=anchor, depth=depth)
        return NoteBook((*self.notes, note), self.next_id + 1)

    def move(self, note_id: int, dx: float, dy: float) -> NoteBook:
        """A book in which the note's box lies at another offset from its anchor. Raises KeyError."""
        return self._replace(replace(self.get(note_id), dx=dx, dy=dy))

    def edit(self, note_id: int, text: str) -> NoteBook:
        """A book in which the note says something else. Raises KeyError, and UsageError for an empty text."""
        return self._replace(replace(self.get(note_id), text=clean_text(text)))

    def remove(self, note_id: int) -> NoteBook:
        """A book without the note. Raises KeyError."""
        gone = self.get(note_id)
        return NoteBook(tuple(n for n in self.notes if n is not gone), self.next_id)

    def _replace(self, changed: Note) -> NoteBook:
        return NoteBook(tuple(changed if n.id == changed.id else n for n in self.notes), self.next_id)


def clean_text(text: str) -> str:
    """A note's text as it is kept: one space for each run of white space, lines kept, no control characters.

    Raises UsageError when nothing is left or when it is longer than MAX_TEXT.
    """
    lines = (" ".join("".join(c if c.isprintable() else " " for c in line).split()) for line in text.splitlines())
    cleaned = "\n".join(line for line in lines if line)
    if not cleaned:
        raise UsageError("a note needs a text.")
    if len(cleaned) > MAX_TEXT:
        raise UsageError(f"a note has at most {MAX_TEXT} characters; this one has {len(cleaned)}.")
    return cleaned


def parse_note(spec: str, origin_ns: int, groups: Sequence[LaneGroup]) -> tuple[int, str, str]:
    """Read one ``--note``: ``"T:text"`` or ``"T@lane:text"`` -> (session time, lane key or ANY_LANE, text).

    T counts from the session's origin and takes a unit (a bare number is ns). The lane is a lane's key or its label
    where that is unique, without regard to case. Lane keys hold colons themselves, so the longest one that fits wins;
    everything behind it is text, colons included. Raises UsageError that quotes the note and says what to write.
    """
    at, colon = spec.find("@"), spec.find(":")
    if colon < 0:
        raise UsageError(f"{quoted(spec)} is no note: {_FORM}.")
    with_lane = 0 <= at < colon
    try:
        time_ns = origin_ns + parse_duration(spec[: at if with_lane else colon])
    except UsageError as error:
        raise UsageError(
            f"the note {quoted(spec)} does not begin with a time ({error}) {_FORM[0].upper()}{_FORM[1:]}."
        ) from None
    lane, text = _split_lane(spec, spec[at + 1 :], groups) if with_lane else (ANY_LANE, spec[colon + 1 :])
    try:
        return time_ns, lane, clean_text(text)
    except UsageError as error:
        raise UsageError(f"the note {quoted(spec)}: {error}") from None


def notes_from_specs(specs: Sequence[str], origin_ns: int, groups: Sequence[LaneGroup]) -> NoteBook:
    """All ``--note`` texts of a command line as a book. Raises UsageError for the first bad one."""
    book = NoteBook()
    for spec in specs:
        time_ns, lane, text = parse_note(spec, origin_ns, groups)
        book = book.add(time_ns, lane, text)
    return book


def _split_lane(spec: str, rest: str, groups: Sequence[LaneGroup]) -> tuple[str, str]:
    lanes = [lane for group in groups for lane in group.lanes]
    low = rest.lower()
    fits: list[tuple[int, bool, LaneRow]] = []
    for lane in lanes:
        for exact, name in ((True, lane.key), (False, lane.label)):
            if name and low.startswith(f"{name.lower()}:"):
                fits.append((len(name), exact, lane))
    if not fits:
        wanted = rest.partition(":")[0]
        known = ", ".join(repr(lane.key) for lane in lanes[:_SHOWN_LANES]) or "none"
        more = f" and {len(lanes) - _SHOWN_LANES} more" if len(lanes) > _SHOWN_LANES else ""
        told = f"the note {quoted(spec)} names a lane {quoted(wanted)} that the job has not."
        raise UsageError(f"{told} Its lanes: {known}{more}.")
    length, exact, _ = best = max(fits, key=lambda f: f[:2])
    same = [f[2] for f in fits if f[:2] == best[:2]]
    if not exact and len(same) > 1:
        keys = ", ".join(repr(lane.key) for lane in same[:_SHOWN_LANES])
        raise UsageError(f"the note {quoted(spec)} names a lane that {len(same)} ranks have. Write one of {keys}.")
    return best[2].key, rest[length + 1 :]
