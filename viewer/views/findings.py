"""The home page of a job: one sentence, the three moves, and the findings as cards. No Qt."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from viewer.analyses.ahead import FIRST, looking_ahead
from viewer.analyses.findings.base import JobFinding
from viewer.analyses.findings.ranking import Ranked, ranked, together
from viewer.analyses.findings.steady import SteadySteps, steady_steps
from viewer.analyses.fingerprint.memory_peak import rank_peaks
from viewer.base.time import format_duration
from viewer.base.units import format_share
from viewer.store.session import Session
from viewer.views.change_words import change_of
from viewer.views.figures import shown
from viewer.views.three_moves import EXPOSED, Move, Totals, job_totals

LOOK_THERE = "look there first (line 2 below)"
LOOKING = "Looking for what to change…"
MUCH = 0.25
"""A part of the time beside compute that is said even where no finding names its cause."""
NO_GPU = "The files hold no GPU work: nothing can be said about the time of the GPUs."
PROFILE_GPU = " If the job uses some, profile them as well (ProfilerActivity.CUDA)."
SEE_MEMORY = " What their memory holds is on the Memory panel."


@dataclass(frozen=True, slots=True)
class CardFrame:
    """One finding as it is shown.

    Attributes:
        finding: what was found.
        saving: as in "up to 3.6 ms per step"; "" where none is said.
        share: of the step, 0 to 1, for a bar; None for no bar.
        follows: title of the finding whose consequence it is, "" for none.
    """

    finding: JobFinding
    saving: str
    share: float | None
    follows: str = ""


@dataclass(frozen=True, slots=True)
class FindingsFrame:
    """The home page.

    Attributes:
        sentence: what to change first.
        tone: "warning" where something is to be gained, else "".
        moves: the three moves; () while they are computed.
        together: what all findings could save at most, in words; "" for nothing.
        cards: what is worth a change, in the order of reading.
        notes: for information.
        unsure: what is not beyond noise.
        dismissed: what a person put aside.
        busy: whether detectors still run.
    """

    sentence: str
    tone: str
    moves: tuple[Move, ...]
    together: str
    cards: tuple[CardFrame, ...]
    notes: tuple[CardFrame, ...]
    unsure: tuple[CardFrame, ...]
    dismissed: tuple[CardFrame, ...]
    busy: bool


@dataclass(frozen=True, slots=True)
class Basis:
    """What the page needs of a job beside its findings: its steady steps and the parts of its time.

    ``no_gpu`` is what is said where there is no GPU work.
    """

    steady: SteadySteps
    totals: Totals | None
    no_gpu: str = NO_GPU


def page_basis(session: Session) -> Basis:
    """The basis of a job's page; may take long, so for a worker."""
    with looking_ahead(session, makes=FIRST):
        totals, steady = job_totals(session), steady_steps(session)
    remembers = totals is None and any(rank_peaks(session))
    return Basis(steady, totals, NO_GPU + (SEE_MEMORY if remembers else PROFILE_GPU))


def findings_frame(
    basis: Basis,
    found: Sequence[JobFinding],
    moves: Sequence[Move] = (),
    dismissed: Collection[str] = (),
    *,
    busy: bool = False,
) -> FindingsFrame:
    """The home page of what was found so far. Quick: for any thread.

    Args:
        basis: of the job.
        found: findings, in any order.
        moves: the three moves, () when they are not there yet.
        dismissed: ids of findings that a person put aside; the total leaves them out.
        busy: more may be found.
    """
    aside = frozenset(dismissed)
    steady = basis.steady
    kept = ranked(f for f in found if f.id not in aside)
    titles = {r.finding.id: shown(r.finding.title) for r in kept}
    cards = tuple(_card(r, titles, steady) for r in kept if r.finding.confident and r.finding.severity != "info")
    notes = tuple(_card(r, titles, steady) for r in kept if r.finding.confident and r.finding.severity == "info")
    unsure = tuple(_card(r, titles, steady) for r in kept if not r.finding.confident)
    put_aside = tuple(_card(r, {}, steady) for r in ranked(f for f in found if f.id in aside))
    sentence, tone = _sentence(basis, cards, notes, unsure, busy=busy)
    total = _together(kept, steady)
    return FindingsFrame(sentence, tone, tuple(moves), total, cards, notes, unsure, put_aside, busy)


def _card(at: Ranked, titles: dict[str, str], steady: SteadySteps) -> CardFrame:
    found = at.finding
    saving = ""
    if found.saving_ns_per_step is not None:
        of = format_share(found.saving_ns_per_step, steady.step_ns) if steady.step_ns else ""
        saving = f"up to {format_duration(found.saving_ns_per_step, 1)} per step" + (f" · {of}" if of else "")
    share = found.share
    if share is None and steady.step_ns and found.saving_ns_per_step is not None:
        share = found.saving_ns_per_step / steady.step_ns
    return CardFrame(found, saving, share, titles.get(at.root, ""))


def _sentence(
    basis: Basis, cards: Sequence[CardFrame], notes: Sequence[CardFrame], unsure: Sequence[CardFrame], *, busy: bool
) -> tuple[str, str]:
    if cards:
        first = cards[0]
        change, title = change_of(first.finding), shown(first.finding.title, 300).rstrip(".")
        if change and first.finding.severity != "error":  # what is wrong stands on the first card
            return f"Change first: {change} – {f'{first.saving} to gain' if first.saving else title}.", "warning"
        word = "Figures cannot be used" if first.finding.severity == "error" else "Change first"
        # A title that has the figure or its share already needs no second one.
        said = (first.saving.removeprefix("up to ").partition(" per step")[0], first.saving.rpartition("· ")[2])
        gain = f" – {first.saving} to gain" if first.saving and not any(s in title for s in said) else ""
        return f"{word}: {title}{gain}.", "warning"
    if busy:
        return LOOKING, ""
    if unsure:
        return f"Nothing is sure; the most likely: {shown(unsure[0].finding.title, 300).rstrip('.')}.", ""
    totals = basis.totals
    memory = next((n for n in notes if n.finding.kind == "memory-overview"), None)
    if totals is None and memory is not None:
        return f"{shown(memory.finding.title, 300).rstrip('.')}.", ""
    if totals is None and notes:  # spans of passes, without kernels
        return f"Nothing stands out from noise: {shown(notes[0].finding.title, 300).rstrip('.')}.", ""
    if totals is None:
        return basis.no_gpu, ""
    name, most = max(totals.parts[1:], key=lambda p: p[1])
    if most >= MUCH * totals.span_ns:
        much = format_share(most, totals.span_ns)
        missing = name == EXPOSED and any(n.finding.kind == "missing-ranks" for n in notes)
        advice = "open the files of the other ranks as well, waiting for them is in it" if missing else LOOK_THERE
        return f"No single cause stands out, but {much} of the time is {name}: {advice}.", ""
    return f"Nothing stands out from noise: {identity_words(totals)}.", ""


def identity_words(totals: Totals) -> str:
    """As in: the GPUs compute 58.3 % of the time, 20.1 % is exposed communication, 12.0 % idle."""
    compute = format_share(totals.compute_ns, totals.span_ns)
    rest = [(name, ns) for name, ns in totals.parts[1:] if ns * 1000 >= totals.span_ns]
    said = ", ".join(f"{format_share(ns, totals.span_ns)} is {name}" for name, ns in rest)
    return (
        f"the GPU{'' if totals.devices == 1 else 's'} compute{'s' if totals.devices == 1 else ''} {compute} of the time"
        + (f", {said}" if said else "")
    )


def _together(kept: Sequence[Ranked], steady: SteadySteps) -> str:
    total = together(kept, steady.step_ns)
    adding = sum(r.adds for r in kept)
    if total is None or adding < 2:
        return ""
    of = f" of {format_duration(steady.step_ns, 1)} ({format_share(total, steady.step_ns)})" if steady.step_ns else ""
    return (
        f"All of it together saves at most {format_duration(total, 1)}{of}: where findings overlap, the largest counts."
    )


def card_text(card: CardFrame) -> str:
    """A finding as plain text, a few lines."""
    f = card.finding
    lines = [shown(f.title)]
    if card.follows:
        lines.append(f"  follows from: {card.follows}")
    if card.saving:
        lines.append(f"  {card.saving}: {f.saving_how}" if f.saving_how else f"  {card.saving}")
    lines.append(f"  try: {shown(f.next_step)}")
    lines += [f"  - {shown(e.text)}" for e in f.evidence]
    if f.how:
        lines.append(f"  how: {shown(f.how)}")
    return "\n".join(lines)


def card_markdown(card: CardFrame) -> str:
    """A finding as Markdown; nothing of a name is taken for markup."""
    f = card.finding
    lines = [f"### {markdown(f.title)}", ""]
    if card.follows:
        lines += [f"Follows from: {markdown(card.follows)}", ""]
    if card.saving:
        lines += [f"**{card.saving}** {markdown(f.saving_how)}".rstrip(), ""]
    lines += [f"Try: {markdown(f.next_step)}", ""]
    lines += [f"- {markdown(e.text)}" for e in f.evidence]
    if f.how:
        lines += ["", f"*{markdown(f.how)}*"]
    return "\n".join(lines)


def page_text(frame: FindingsFrame) -> str:
    """The whole page as plain text."""
    parts = [frame.sentence, "\n".join(f"{i}. {m.title}: {m.full}" for i, m in enumerate(frame.moves, 1))]
    parts += [card_text(c) for c in frame.cards] + [frame.together]
    parts += [card_text(c) for c in (*frame.notes, *frame.unsure)]
    return "\n\n".join(p for p in parts if p) + "\n"


def page_markdown(frame: FindingsFrame) -> str:
    """The whole page as Markdown."""
    moves = "\n".join(f"{i}. **{markdown(m.title)}:** {markdown(m.full)}" for i, m in enumerate(frame.moves, 1))
    parts = [f"## {markdown(frame.sentence)}", moves]
    parts += [card_markdown(c) for c in frame.cards] + [markdown(frame.together)]
    parts += [card_markdown(c) for c in (*frame.notes, *frame.unsure)]
    return "\n\n".join(p for p in parts if p) + "\n"


_MARKUP = frozenset("\\`*_{}[]<>#|~$!&")


def markdown(text: str) -> str:
    """A text on one line whose characters mean themselves in Markdown."""
    return "".join(f"\\{c}" if c in _MARKUP else c for c in shown(text)) if text else ""
