"""A panel that answers one question about the job: asked while it is shown, answered in the pool, the newest wins."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Generic, Protocol, TypeVar

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from viewer.base.selection import Selection, SliceRef
from viewer.base.theme import Theme
from viewer.base.work import CancelToken
from viewer.panels.breakdown import error_sentence
from viewer.panels.context import JobContext
from viewer.panels.table_tools import ScopeLabel
from viewer.store.session import Session
from widgets.theming import palette_of

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Request(Generic[Question, Answer]):
    """What the pool is asked for.

    Attributes:
        session: the job.
        question: what is asked of it.
        cancel: whether somebody still wants to know.
        tell: called in the thread of the work with a part of the answer and how far it is; a larger number knows more.
    """

    session: Session
    question: Question
    cancel: CancelToken
    tell: Callable[[Answer, int], None]


class FollowingPanel(QWidget, Generic[Question, Answer]):
    """Asks when it is shown, when the session changes, and whenever :meth:`refresh` finds another question.

    A hidden panel computes nothing; what it had shown stands when it comes back, if the question is still the same.
    A subclass makes its widgets, then calls :meth:`follow`.
    """

    KEY: ClassVar[str]
    """Of its work."""
    SUBJECT: ClassVar[str]
    """Begins the sentence of an error: "The flame graph" cannot be shown …"""
    HINT: ClassVar[str]
    """What it says before anything is open."""
    COMPUTING: ClassVar[str] = ""
    """What it says while it has nothing to show."""
    STAYS: ClassVar[bool] = False
    """Whether an answer about fewer files of a job stands until there is a better one."""

    _told = Signal(object, object, int)

    def __init__(self, context: JobContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._asked: tuple[Session, Question] | None = None
        self._done = -1
        self._answered = False
        self._showing = False
        self._told.connect(self._show_part)

    def follow(self) -> None:
        """Listen to the context and ask for the first time."""
        self._context.session_changed.connect(self._session_changed)
        self._context.theme_changed.connect(self._use_theme)
        self._use_theme(self._context.theme)
        self.say(self.HINT)
        self.refresh()

    # what a panel gives

    @abstractmethod
    def question(self) -> Question:
        """What is to be computed of the session, which has inputs, as a value that can be compared."""

    @abstractmethod
    def compute(self, request: Request[Question, Answer]) -> Answer:
        """The answer; runs in the pool."""

    @abstractmethod
    def show_answer(self, answer: Answer) -> None:
        """Show an answer to the question that was asked last."""

    @abstractmethod
    def say(self, text: str) -> None:
        """Say why there is no answer."""

    @abstractmethod
    def set_theme(self, theme: Theme) -> None:
        """Use another theme."""

    def say_error(self, text: str) -> None:
        """Say that there will be no answer."""
        self.say(text)

    def say_waiting(self) -> None:
        """Say that an answer is computed: :attr:`COMPUTING`, where nothing of this session is shown."""
        if self.COMPUTING and not self._showing:
            self.say(self.COMPUTING)

    def show_part(self, answer: Answer) -> None:
        """Show a part of an answer that was told before the whole."""
        self.show_answer(answer)

    def forget(self) -> None:
        """Another session is there: what was kept of the one before is of no use."""

    # asking

    @property
    def asked(self) -> Question:
        """What was asked last; only to be read while something is computed or shown."""
        assert self._asked is not None
        return self._asked[1]

    def refresh(self, _: object = None) -> None:
        """Ask, unless this was asked already."""
        if not self.isVisible():
            return
        session = self._context.session
        if not session.inputs:
            self._drop()
            self._showing = False
            self.say(self.HINT)
            return
        question = self.question()
        if self._asked is not None and self._asked[0] is session and self._asked[1] == question:
            return
        self._asked = asked = (session, question)
        self._done, self._answered = -1, False
        self.say_waiting()

        def work(cancel: CancelToken) -> Answer:
            cancel.check()
            tell = partial(self._told.emit, asked)
            return self.compute(Request(session, question, cancel, tell))

        self._context.work.submit(self.KEY, work, self._show_whole, self._failed)

    def _drop(self) -> None:
        self._context.work.cancel(self.KEY)
        self._asked = None

    def _show_part(self, asked: object, part: Answer, done: int) -> None:
        if asked is self._asked and not self._answered and done > self._done:  # else what is shown knows more
            self._done, self._showing = done, True
            self.show_part(part)

    def _show_whole(self, answer: Answer) -> None:
        self._answered = self._showing = True
        self.show_answer(answer)

    def _failed(self, error: Exception) -> None:
        self._asked, self._showing = None, False
        self.say_error(error_sentence(self.SUBJECT, error))

    def _session_changed(self, _: object) -> None:
        self._drop()
        self._showing = self._showing and self.STAYS
        self.forget()
        self.refresh()

    def _use_theme(self, theme: Theme) -> None:
        self.setPalette(palette_of(theme))
        self.setAutoFillBackground(True)
        self.set_theme(theme)

    def showEvent(self, event: QShowEvent) -> None:
        """Compute what a hidden panel did not."""
        super().showEvent(event)
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """A hidden panel computes nothing."""
        super().hideEvent(event)
        if not self._answered:
            self._drop()


class ScopedPanel(FollowingPanel[Question, Answer]):
    """Says beside its tools what it shows, and why there is nothing else; what it showed stays meanwhile.

    Attributes:
        scope: the line that says so; made by the subclass.
    """

    scope: ScopeLabel

    def say(self, text: str) -> None:
        """Beside the tools."""
        self.scope.say(text)

    def say_error(self, text: str) -> None:
        """In the colour of errors."""
        self.scope.say(text, "error")


class KeptRank:
    """The rank that is counted: looking at slices and gaps of other ranks leaves a table as it is."""

    def __init__(self) -> None:
        self._group: int | None = None

    def of(self, context: JobContext) -> int | None:
        """Id of the selected rank group; None for all."""
        selection = context.selection
        if selection.slice is None and selection.gap is None:
            self._group = selection.group
        return self._group if any(g.id == self._group for g in context.session.groups) else None

    def selection(self, context: JobContext) -> Selection:
        """The selection with that rank and without what is looked at."""
        return replace(context.selection, slice=None, gap=None, group=self.of(context))


class Runs(Protocol):
    """All runs that a row of a table counts, in the order of time."""

    def step(self, current: SliceRef | None, forward: bool) -> SliceRef | None:
        """The run after, or before, the selected one."""


class RunWalk:
    """Walks along the runs of a row, which are looked up once, in the pool."""

    def __init__(self, context: JobContext, key: str) -> None:
        """``key`` is that of the work."""
        self._context, self._key = context, key
        self._found: tuple[object, int, Runs] | None = None

    def forget(self) -> None:
        """Another session is there: what is looked up now would lead to a slice of the one before."""
        self._context.work.cancel(self._key)
        self._found = None

    def step(
        self, view: object, row: int, forward: bool, find: Callable[[], Runs], go: Callable[[SliceRef], None]
    ) -> None:
        """Go to the next run of a row, or the one before; ``find`` runs in the pool, once per view and row."""

        def done(runs: Runs) -> None:
            self._found = (view, row, runs)
            target = runs.step(self._context.selection.slice, forward)
            if target is not None:
                go(target)

        if self._found is not None and self._found[0] is view and self._found[1] == row:
            done(self._found[2])
            return

        def work(cancel: CancelToken) -> Runs:
            cancel.check()
            return find()

        self._context.work.submit(self._key, work, done)
