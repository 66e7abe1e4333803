"""Pictures show the lanes as a person arranged, filtered and coloured them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.picture_job import GEMM, NCCL, PLAIN, US, job
from viewer.app.themes import load_theme
from viewer.base.frames import Placement
from viewer.base.ids import Paint
from viewer.base.scene import Bounds, PictureScene, SceneImage, SceneLine, SceneRect
from viewer.base.selection import Selection, SliceRef, TimeRange
from viewer.base.session_file import SavedColors
from viewer.store.session import Session
from viewer.views.lanes.arrangement import Height, LaneArrangement, RankSort, arrange, plain_arrangement
from viewer.views.lanes.looks import hue_of
from viewer.views.lanes.painter import LanePainter
from viewer.views.lanes.palette import FIRST_HUE
from viewer.views.lanes.tree import build_tree
from viewer.views.picture.arranged import Arranged, arranged_as_saved
from viewer.views.picture.rows import view_rows
from viewer.views.picture.scene import PictureRequest, ViewRows, picture_scene

LIGHT = load_theme("light")


def request(session: Session, **given: object) -> PictureRequest:
    origin = session.origin_ns()
    window = TimeRange(origin - 100 * US, origin + 900 * US)
    return replace(PictureRequest(window, 1280, 720, LIGHT), **given)  # type: ignore[arg-type]


def words(scene: PictureScene, role: str) -> list[str]:
    return [t.text for t in scene.texts(role)]  # type: ignore[arg-type]


def image_of(scene: PictureScene) -> SceneImage:
    (image,) = (i for i in scene.items if isinstance(i, SceneImage))
    return image


def saved(session: Session, now: LaneArrangement | None = None, colors: SavedColors | None = None) -> Arranged:
    return arranged_as_saved(session, None if now is None else plain_arrangement(now), colors)


def picture(session: Session, found: Arranged, *, screen: bool = False, **given: object) -> PictureScene:
    view = ViewRows(found.placement, 0, 0) if screen and found.placement is not None else None
    return picture_scene(
        session,
        request(session, view=view, groups=found.groups, pinned=found.pinned, colors=found.colors, **given),
    )


def color(hexed: str) -> int:
    return 0xFF000000 | int(hexed[1:], 16)


def pinned_view(session: Session, *keys: str) -> Placement:
    return arrange(build_tree(session), LaneArrangement(pinned=keys))


def test_pinned_rows_stay_at_the_top_and_the_others_scroll_below_them() -> None:
    s = job(8)
    placement = pinned_view(s, "rank 5/stream 0:20")
    top = next(r.y for r in placement.rows if r.lane is None and r.group.id == 3) - placement.pinned_height
    scene = picture_scene(s, request(s, view=ViewRows(placement, top, 300)))
    lanes = scene.texts("lane")
    assert (lanes[0].text, words(scene, "header")[0]) == ("rank 5 · stream 20", "rank 3")
    area = image_of(scene).bounds
    first = scene.texts("header")[0]
    assert area.y < lanes[0].y < first.y
    assert [t.text for t in lanes[1:4]] == ["stream 7", "stream 20", "thread 4001"]
    # The image is that of the painter, scrolled likewise.
    chosen = view_rows(placement, top, 300, round(area.height), 10.0)
    assert chosen.placement.pinned_height > 0
    row = chosen.placement.rows[0]
    assert row.pinned
    pixels = image_of(scene).pixels
    middle = round(pixels.shape[0] * (lanes[0].y - area.y - 4) / area.height)
    assert color(LIGHT.paints[Paint.COMM]) in pixels[middle]


def test_a_row_that_is_half_behind_the_pinned_ones_is_labelled_and_framed_below_them() -> None:
    s = job(2)
    placement = pinned_view(s, "rank 1/stream 0:20")
    thread = next(r for r in placement.rows if r.lane is not None and r.lane.label == "stream 7")
    top = thread.y + thread.height // 2 - placement.pinned_height
    chosen = view_rows(placement, top, 400, 400, 1.0)
    area = Bounds(0.0, 100.0, 500.0, 400.0)
    spans = [chosen.span(r, area) for r in chosen.placement.rows]
    assert spans[0] == (100.0, 100.0 + placement.pinned_height)
    shown = [span for span in spans[1:] if span is not None]
    assert shown[0][0] == 100.0 + placement.pinned_height
    assert all(a[1] == b[0] for a, b in pairwise(shown))
    scene = picture_scene(s, request(s, view=ViewRows(placement, top, 300), vector=True))
    image = image_of(scene).bounds
    behind = view_rows(placement, top, 300, round(image.height), 10.0).placement.pinned_height
    tips = [i for i in scene.items if isinstance(i, SceneRect) and i.tip.startswith(GEMM)]
    assert tips
    assert all(i.y >= image.y + min(behind, placement.pinned_height) for i in tips)


def test_marks_of_a_pinned_lane_lie_on_it_wherever_the_rest_is_scrolled() -> None:
    s = job(8)
    placement = pinned_view(s, "rank 5/stream 0:20")
    trace = s.inputs[5].trace
    ref = SliceRef(5, next(i for i in range(len(trace)) if trace.name(i) == NCCL))
    top = placement.height // 2
    scene = picture_scene(s, request(s, view=ViewRows(placement, top, 300), selection=Selection(slice=ref)))
    outline = next(i for i in scene.items if isinstance(i, SceneRect) and i.stroke == LIGHT["accent"])
    label = scene.texts("lane")[0]
    assert label.text == "rank 5 · stream 20"
    assert outline.y < label.y < outline.y + outline.height


@pytest.mark.parametrize("vector", [False, True])
def test_slices_have_the_colours_that_were_chosen_and_the_legend_says_of_what(vector: bool) -> None:
    s = job(2)
    found = saved(s, colors=SavedColors("name"))
    scene = picture(s, found, vector=vector, width=1600, height=900)
    hue = LIGHT.hues[hue_of(GEMM) - FIRST_HUE]
    assert color(hue) in np.unique(image_of(scene).pixels)
    assert color(LIGHT.paints[Paint.COMPUTE]) not in np.unique(image_of(scene).pixels)
    assert [i.fill for i in scene.items if isinstance(i, SceneRect) and i.tip.startswith(GEMM)] == (
        [hue] * 2 if vector else []
    )
    legend = words(scene, "legend")
    assert any(t.startswith("AllReduce") for t in legend)
    assert "compute" not in legend
    by_rank = picture(s, saved(s, colors=SavedColors("rank")))
    assert words(by_rank, "legend") == ["rank 0", "rank 1"]


def test_safe_colours_and_patterns_are_those_of_the_window() -> None:
    s = job(1)
    found = saved(s, colors=SavedColors("class", safe=True, patterns=True))
    assert found.colors.safe
    safe = LIGHT.with_safe_paints()
    scene = picture(s, found, theme=safe)
    pixels = image_of(scene).pixels
    assert color(safe.paints[Paint.COMPUTE]) in pixels
    plain = image_of(picture(s, saved(s), theme=safe)).pixels
    assert plain.shape == pixels.shape
    assert (plain != pixels).any()
    swatches = [i for i in scene.items if isinstance(i, SceneRect) and i.fill == safe.paints[Paint.COMM]]
    strokes = [i for i in scene.items if isinstance(i, SceneLine) and i.y1 > image_of(scene).bounds.bottom]
    assert swatches
    assert len(strokes) > len([i for i in picture(s, saved(s)).items if isinstance(i, SceneLine) and i.y1 > 700])
    # In a vector file the image shows what has a pattern; shapes would lie upon it.
    tips = [i.tip for i in picture(s, found, theme=safe, vector=True).items if isinstance(i, SceneRect) and i.tip]
    assert any(t.startswith(GEMM) for t in tips)
    assert not any(t.startswith(NCCL) for t in tips)


def test_hidden_and_filtered_lanes_are_left_out_in_words_and_others_are_pale() -> None:
    s = job(2)
    found = saved(s, LaneArrangement(hidden=frozenset({"rank 1"}), filter="name:nccl"))
    for screen in (True, False):
        scene = picture(s, found, screen=screen)
        assert words(scene, "lane") == ["stream 20"]
        assert [w for w in words(scene, "header") if w.startswith("rank")] == ["rank 0"]
        assert "filter: name:nccl" in words(scene, "more")
    assert color(LIGHT.paints[Paint.COMM]) in image_of(scene).pixels
    dim = saved(s, LaneArrangement(filter="name:cutlass"))
    shapes = [i for i in picture(s, dim, vector=True).items if isinstance(i, SceneRect) and i.tip]
    fills = {i.tip.split("<")[0].split("(")[0]: i.fill for i in shapes}
    assert fills["void cutlass::Kernel2"] == LIGHT.paints[Paint.COMPUTE]
    assert fills["Memcpy HtoD "] != LIGHT.paints[Paint.MEMORY]


def test_order_and_heights_are_those_of_the_window() -> None:
    s = job(3)
    ranks = LaneArrangement(sort=RankSort.OWN, ranks=("rank 2", "rank 0", "rank 1"))
    for screen in (True, False):
        headers = words(picture(s, saved(s, ranks), screen=screen), "header")
        assert [w for w in headers if w.startswith("rank")] == ["rank 2", "rank 0", "rank 1"]
    tall = saved(s, LaneArrangement(heights=(("rank 0/stream 0:7", Height.TALL),)))
    assert tall.placement is not None
    heights = {r.lane.key: r.height for r in tall.placement.rows if r.lane is not None}
    assert heights["rank 0/stream 0:7"] > heights["rank 1/stream 0:7"]


def test_what_makes_no_sense_in_a_session_counts_as_not_said() -> None:
    s = job(1)
    found = arranged_as_saved(s, {"height": "huge"}, SavedColors("mood", patterns=True))
    assert found.placement is None
    assert words(picture(s, found), "lane") == words(picture_scene(s, request(s)), "lane")
    broken = saved(s, LaneArrangement(filter="dur:>nonsense"))
    assert words(picture(s, broken, screen=True), "lane")[:2] == ["stream 7", "stream 20"]
    assert broken.colors.words == ()


def test_the_scroll_position_of_a_session_is_found_again() -> None:
    s = job(8, PLAIN)
    found = saved(s, LaneArrangement(height=Height.TALL))
    assert found.placement is not None
    header = next(r for r in found.placement.rows if r.lane is None and r.group.id == 6)
    assert found.top_of("rank 6", 0) == header.y
    assert found.top_of("rank 6", -10_000) == 0
    assert found.top_of("rank 99", 5) == 0
    assert LanePainter(s, found.placement, LIGHT).row_of("rank 6/stream 0:7") is not None
