from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from tests.picture_job import US, job
from viewer.app.themes import load_theme
from viewer.base.errors import UsageError
from viewer.base.frames import Placement
from viewer.base.kept import Note
from viewer.base.selection import EMPTY, Selection, TimeRange
from viewer.store.session import Session
from viewer.views.picture.choices import (
    Choices,
    Shown,
    choices_from,
    picture_request,
    picture_size,
    picture_window,
    preview_request,
)
from viewer.views.picture.scene import ViewRows

ORIGIN = 10**18 + 100 * US


def shown(**given: object) -> Shown:
    plain = Shown(job(1), TimeRange(ORIGIN, ORIGIN + 500 * US), size=(1000, 500))
    return replace(plain, **given)  # type: ignore[arg-type]


def test_the_window_is_what_was_chosen() -> None:
    assert picture_window(Choices(), shown()) == TimeRange(ORIGIN, ORIGIN + 500 * US)
    typed = Choices(extent="typed", typed="10us:30us")
    assert picture_window(typed, shown()) == TimeRange(ORIGIN + 10 * US, ORIGIN + 30 * US)
    chosen = Selection(range=TimeRange(ORIGIN, ORIGIN + 200 * US))
    ranged = picture_window(Choices(extent="range"), shown(selection=chosen))
    assert ranged == TimeRange(ORIGIN - 10 * US, ORIGIN + 210 * US)
    whole = picture_window(Choices(extent="whole"), shown())
    assert (whole.start_ns, whole.end_ns) == (ORIGIN - 100 * US - 9950, ORIGIN + 895 * US + 9950)
    empty = Shown(Session(), TimeRange(0, 5))
    assert picture_window(Choices(extent="whole"), empty) == TimeRange(0, 5)


def test_windows_that_are_none_are_refused_in_a_sentence() -> None:
    with pytest.raises(UsageError, match="no range is selected"):
        picture_window(Choices(extent="range"), shown())
    with pytest.raises(UsageError, match="'5' is no window: write START:END"):
        picture_window(Choices(extent="typed", typed="5"), shown())


def test_the_request_has_what_was_chosen_and_nothing_else() -> None:
    view = ViewRows(Placement((), 0), 0, 300)
    marks = Selection(range=TimeRange(ORIGIN, ORIGIN + 1))
    note = Note(1, ORIGIN, "", "n")
    state = shown(selection=marks, notes=(note,), rows=view)
    full = picture_request(Choices(format="png4", size=None, rows="screen", title="T", theme="dark"), state, load_theme)
    assert (full.width, full.height, full.scale, full.vector) == (1000, 500, 4.0, False)
    assert (full.title, full.theme.name, full.view, full.notes, full.selection) == ("T", "dark", view, (note,), marks)
    assert (full.legend, full.footer) == (True, True)
    bare = picture_request(
        Choices(format="svg", notes=False, selection=False, legend=False, footer=False), state, load_theme
    )
    assert (bare.width, bare.height, bare.vector) == (1280, 720, True)
    assert (bare.view, bare.notes, bare.selection, bare.legend, bare.footer) == (None, (), EMPTY, False, False)


def test_pictures_that_are_too_large_are_refused_before_they_are_composed() -> None:
    with pytest.raises(UsageError, match="a side has at most"):
        picture_request(Choices(format="png4", size=(5000, 5000)), shown(), load_theme)


def test_the_preview_has_only_the_pixels_it_shows() -> None:
    request = picture_request(Choices(format="pdf", size=(3840, 2160)), shown(), load_theme)
    small = preview_request(request, 960, 960, 2.0)
    assert (small.width, small.height, small.scale, small.vector) == (3840, 2160, 0.5, False)
    assert preview_request(request, 10_000, 10_000, 1.0).scale == 1.0


def test_settings_are_read_back_and_nonsense_is_left_out() -> None:
    chosen = Choices(format="svg", size=(800, 600), extent="whole", rows="screen", theme="dark", notes=False)
    assert choices_from(asdict(chosen)) == replace(chosen)
    assert choices_from({"size": None}).size is None
    assert choices_from({"size": ["a", 2], "format": "gif", "legend": 7, "theme": 5, "else": 1}) == Choices()
    assert picture_size(Choices(size=None), shown()) == (1000, 500)


def test_a_view_that_is_too_small_for_a_picture_is_made_larger() -> None:
    assert picture_size(Choices(size=None), shown(size=(320, 700))) == (480, 700)
