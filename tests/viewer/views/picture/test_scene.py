from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.picture_job import GEMM, HOSTILE, NCCL, PLAIN, US, Event, job, trace_of
from viewer import __version__
from viewer.app.themes import load_theme
from viewer.base.errors import UsageError
from viewer.base.kept import Note
from viewer.base.scene import (
    Bounds,
    PictureScene,
    SceneHatch,
    SceneImage,
    SceneLine,
    SceneRect,
    SceneText,
    plain_measure,
)
from viewer.base.selection import GapRef, Selection, SliceRef, TimeRange
from viewer.store.session import Opened, Session, build_session
from viewer.views.lanes.tree import build_tree, place
from viewer.views.picture.canvas import size_factor
from viewer.views.picture.scene import PictureRequest, ViewRows, picture_scene

SIZES = ((640, 360), (1280, 720), (1920, 1080), (3840, 2160), (7680, 4320), (640, 2000), (3000, 300))


def request(session: Session, width: int = 1280, height: int = 720, **given: object) -> PictureRequest:
    origin = session.origin_ns()
    window = TimeRange(origin - 150 * US, origin + 950 * US)
    return replace(PictureRequest(window, width, height, load_theme("light"), title="Why rank 1 waits"), **given)  # type: ignore[arg-type]


def ref_of(session: Session, part: int, name: str) -> SliceRef:
    trace = session.inputs[part].trace
    return SliceRef(part, next(i for i in range(len(trace)) if trace.name(i) == name))


def words(scene: PictureScene, role: str) -> list[str]:
    return [t.text for t in scene.texts(role)]  # type: ignore[arg-type]


def everything(session: Session) -> dict[str, object]:
    origin = session.origin_ns()
    return {
        "selection": Selection(slice=ref_of(session, 1, NCCL), range=TimeRange(origin + 250 * US, origin + 420 * US)),
        "notes": (
            Note(1, origin + 300 * US, "rank 0/stream 0:7", "GEMM and all-reduce overlap here"),
            Note(2, origin + 300 * US, "rank 1/stream 0:20", "a second note at the same instant, with more to say"),
            Note(3, origin + 700 * US, "", "an instant of all ranks"),
        ),
    }


def assert_laid_out(scene: PictureScene) -> None:
    """Nothing outside the picture, and no two texts over each other unless one is a callout over the lanes."""
    for item in scene.items:
        match item:
            case SceneText():
                assert scene.bounds.contains(item.bounds), item
                assert item.text
            case SceneRect():
                # An outline at the edge may reach over it by its own width.
                assert scene.bounds.contains(Bounds(item.x, item.y, item.width, item.height), slack=3), item
            case SceneImage() | SceneHatch():
                assert scene.bounds.contains(item.bounds), item
            case SceneLine():
                x, y = min(item.x1, item.x2), min(item.y1, item.y2)
                assert scene.bounds.contains(Bounds(x, y, abs(item.x1 - item.x2), abs(item.y1 - item.y2))), item
    for a, b in itertools.combinations(scene.texts(), 2):
        over = {"callout", "note"} & {a.role, b.role} and {"header", "slice"} & {a.role, b.role}
        if not over:
            assert a.bounds.overlap(b.bounds) == 0, (a, b)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("vector", [False, True])
def test_at_every_size_all_is_inside_and_no_text_lies_over_another(size: tuple[int, int], vector: bool) -> None:
    s = job(8)
    assert_laid_out(picture_scene(s, request(s, *size, vector=vector, **everything(s))))
    assert_laid_out(picture_scene(s, request(s, *size, vector=vector, title="", subtitle="")))


@pytest.mark.parametrize("vector", [False, True])
def test_the_smallest_picture_holds_a_job(vector: bool) -> None:
    s = job(8)
    scene = picture_scene(s, request(s, 480, 270, vector=vector))
    assert words(scene, "lane")
    assert_laid_out(scene)


def test_title_subtitle_axis_lanes_legend_and_footer_are_there() -> None:
    s = job(2)
    scene = picture_scene(s, request(s))
    assert words(scene, "title") == ["Why rank 1 waits"]
    assert words(scene, "subtitle") == ["ranks 0, 1 · NVIDIA A100-SXM4-80GB · node-7 · 1.100 ms from \u2212150.000 us"]
    assert words(scene, "header") == [
        "rank 0",
        "node-7 · NVIDIA A100-SXM4-80GB",
        "rank 1",
        "node-7 · NVIDIA A100-SXM4-80GB",
    ]
    assert words(scene, "lane") == ["stream 7", "stream 20", "thread 4001"] * 2
    assert words(scene, "axis") == ["time (us)", "\u2212100 us", *(f"{t} us" for t in range(0, 901, 100))]
    assert words(scene, "legend") == ["compute", "communication", "memory", "operator", "runtime call"]
    assert "  ·  ".join(words(scene, "footer")).split("  ·  ") == [
        "rank0.json 00000000",
        "rank1.json 01010101",
        "digests: head+tail",
        "ranks 0, 1",
        "window \u2212150 us to 950 us after the first GPU start",
        "clock: base times applied",
        f"Rankscope {__version__}",
    ]
    assert words(scene, "more") == []
    assert scene.title == "Why rank 1 waits"
    assert f"Rankscope {__version__}" in scene.description


def test_axis_labels_stand_over_their_instants() -> None:
    s = job(1)
    scene = picture_scene(s, request(s))
    (image,) = (i for i in scene.items if isinstance(i, SceneImage))
    label = next(t for t in scene.texts("axis") if t.text == "400 us")
    middle = label.bounds.x + label.width / 2
    assert middle == pytest.approx(image.bounds.x + (400 + 150) / 1100 * image.bounds.width, abs=0.02)


def test_names_stand_in_their_slices_elided_in_the_middle() -> None:
    s = job(1)
    scene = picture_scene(s, request(s))
    names = words(scene, "slice")
    assert any(n.startswith("ncclDevKernel_AllReduce") for n in names)
    gemm = next(n for n in names if n.startswith("cutlass_80"))  # what tells of cutlass::Kernel<…>
    assert "…" in gemm
    assert "tn_align8>" in gemm


def test_the_image_has_the_pixels_of_the_output_scale() -> None:
    s = job(1)
    for scale in (1.0, 2.0, 4.0):
        scene = picture_scene(s, request(s, scale=scale))
        (image,) = (i for i in scene.items if isinstance(i, SceneImage))
        assert image.pixels.shape == (image.bounds.height * scale, image.bounds.width * scale)
        assert len(np.unique(image.pixels)) > 3


def test_in_vector_files_wide_slices_are_shapes_with_full_names_and_the_image_is_bounded() -> None:
    s = job(1)
    scene = picture_scene(s, request(s, vector=True, scale=4.0))
    tips = {i.tip for i in scene.items if isinstance(i, SceneRect) and i.tip}
    assert f"{GEMM}, 400.000 us" in tips
    assert f"{NCCL}, 500.000 us" in tips
    assert len(tips) == len(PLAIN)
    (image,) = (
        i for i in picture_scene(s, request(s, 7680, 4320, vector=True, scale=4.0)).items if isinstance(i, SceneImage)
    )
    assert image.pixels.size <= 12_100_000
    assert not any(i.tip for i in picture_scene(s, request(s)).items if isinstance(i, SceneRect))


def test_shapes_lie_where_the_slices_are() -> None:
    s = job(1)
    scene = picture_scene(s, request(s, vector=True))
    (image,) = (i for i in scene.items if isinstance(i, SceneImage))
    rect = next(i for i in scene.items if isinstance(i, SceneRect) and i.tip.startswith(NCCL))
    at = image.bounds.x + (200 + 150) / 1100 * image.bounds.width
    assert rect.x == pytest.approx(at, abs=0.01)
    assert rect.width == pytest.approx(500 / 1100 * image.bounds.width, abs=0.01)
    pixel = image.pixels[int(rect.y - image.bounds.y + rect.height / 2), int(rect.x - image.bounds.x + 40)]
    assert f"#{pixel & 0xFFFFFF:06x}" == load_theme("light").paints[2] == rect.fill


def test_the_legend_has_only_what_occurs_in_the_window() -> None:
    s = job(2)
    origin = s.origin_ns()
    late = TimeRange(origin + 740 * US, origin + 815 * US)
    assert words(picture_scene(s, request(s, window=late)), "legend") == ["memory"]
    assert words(picture_scene(s, request(s, legend=False)), "legend") == []


def test_the_selected_slice_is_outlined_and_named_with_duration_and_class() -> None:
    s = job(2)
    scene = picture_scene(s, request(s, selection=Selection(slice=ref_of(s, 1, NCCL))))
    accent = load_theme("light")["accent"]
    outline = next(
        i for i in scene.items if isinstance(i, SceneRect) and i.stroke == accent and not i.fill and not i.radius
    )
    (image,) = (i for i in scene.items if isinstance(i, SceneImage))
    assert outline.x == pytest.approx(image.bounds.x + 350 / 1100 * image.bounds.width, abs=1.5)
    name, detail = words(scene, "callout")
    assert name.startswith("ncclDevKernel_AllReduce")
    assert detail == "500.000 us  ·  communication  ·  rank 1, stream 20"


def test_a_selected_gap_is_marked() -> None:
    s = job(1)
    origin = s.origin_ns()
    lane = next(x.id for x in s.inputs[0].trace.lanes if x.stream == 7)
    gap = GapRef(0, lane, TimeRange(origin + 400 * US, origin + 750 * US))
    assert words(picture_scene(s, request(s, selection=Selection(gap=gap))), "callout") == [
        "Gap",
        "350.000 us  ·  nothing runs on this lane  ·  rank 0, stream 7",
    ]


def test_a_selection_outside_the_window_is_said() -> None:
    s = job(1)
    origin = s.origin_ns()
    scene = picture_scene(
        s,
        request(
            s,
            window=TimeRange(origin, origin + 100 * US),
            selection=Selection(slice=ref_of(s, 0, NCCL)),
            notes=(Note(1, origin + 200 * US, "", "x"),),
        ),
    )
    assert words(scene, "callout") == []
    said = "  ·  ".join(words(scene, "more"))
    assert said == (
        "1 lane without events in this window not shown  ·  the selection lies outside this window  ·  "
        "1 note lies outside this window"
    )


def test_the_selected_range_is_shaded_and_its_length_written() -> None:
    s = job(1)
    origin = s.origin_ns()
    scene = picture_scene(s, request(s, selection=Selection(range=TimeRange(origin, origin + 250 * US))))
    assert words(scene, "range") == ["250.000 us"]
    (image,) = (i for i in scene.items if isinstance(i, SceneImage))
    (shade,) = (i for i in scene.items if isinstance(i, SceneRect) and i.opacity < 1)
    assert (shade.x, shade.width) == pytest.approx(
        (image.bounds.x + 150 / 1100 * image.bounds.width, 250 / 1100 * image.bounds.width)
    )
    away = Selection(range=TimeRange(origin + 5000 * US, origin + 6000 * US))
    assert words(picture_scene(s, request(s, selection=away)), "range") == []


def test_notes_are_whole_and_off_each_other() -> None:
    s = job(2)
    scene = picture_scene(s, request(s, **everything(s)))
    assert " ".join(words(scene, "note")) == (
        "GEMM and all-reduce overlap here a second note at the same instant, with more to say an instant of all ranks"
    )


def test_no_name_is_left_under_a_callout() -> None:
    s = job(8)
    scene = picture_scene(s, request(s, **everything(s)))
    boxes = [i for i in scene.items if isinstance(i, SceneRect) and i.radius and i.fill and i.height > 12]
    assert len(boxes) == 4
    for text in scene.texts("slice"):
        for box in boxes:
            inside = (
                text.bounds.x < box.x + box.width
                and box.x < text.bounds.right
                and text.bounds.y < box.y + box.height
                and box.y < text.bounds.bottom
            )
            assert not inside, (text, box)


def many_lanes(count: int) -> tuple[Event, ...]:
    return tuple(("kernel", f"k{n}", 100, 800, n) for n in range(count))


def test_lanes_that_do_not_fit_are_counted() -> None:
    s = job(1, many_lanes(100))
    scene = picture_scene(s, request(s))
    shown = len(words(scene, "lane"))
    assert 10 < shown < 100
    assert words(scene, "more") == [f"{100 - shown} more lanes not shown"]


def test_ranks_that_do_not_fit_are_counted_and_the_footer_names_the_shown_ones() -> None:
    s = job(40)
    scene = picture_scene(s, request(s))
    shown = len([w for w in words(scene, "header") if w.startswith("rank")])
    assert shown < 40
    assert f"all of {40 - shown} ranks among them" in words(scene, "more")[0]
    assert f"ranks 0–{shown - 1} (of 40 groups)" in " ".join(words(scene, "footer"))


def test_lanes_without_events_in_the_window_are_left_out_and_said() -> None:
    s = job(1)
    origin = s.origin_ns()
    scene = picture_scene(s, request(s, window=TimeRange(origin + 740 * US, origin + 815 * US)))
    assert words(scene, "lane") == ["stream 7"]
    assert words(scene, "more") == ["2 lanes without events in this window not shown"]


def test_a_stream_that_idles_while_the_same_one_of_another_rank_works_is_shown() -> None:
    late = (("kernel", "k", 100, 10, 7), ("kernel", "k", 500, 10, 7))
    s = build_session(
        [Opened(Path(f"/r/{r}"), trace_of(e, r, 10**18)) for r, e in enumerate((PLAIN, late))],
    )
    origin = s.origin_ns()
    scene = picture_scene(s, request(s, window=TimeRange(origin + 100 * US, origin + 150 * US)))
    assert words(scene, "lane") == ["stream 7", "thread 4001", "stream 7"]


def test_threads_are_shown_low_rather_than_not_at_all() -> None:
    deep = tuple(("cpu_op", f"f{n}", n, 1000 - 2 * n, 4001) for n in range(10))
    s = job(8, (("kernel", "k", 100, 100, 7), *deep))
    scene = picture_scene(s, request(s, 1280, 1180))
    assert words(scene, "lane") == ["stream 7", "thread 4001"] * 8
    assert_laid_out(scene)


def test_an_idle_thread_does_not_stand_in_for_a_busy_one_that_does_not_fit() -> None:
    deep = tuple(("cpu_op", f"f{n}", n, 1000 - 2 * n, 4001) for n in range(60))
    s = job(8, (("kernel", "k", 100, 100, 7), *deep, ("user_annotation", "x", 5, 1, 4002)))
    assert words(picture_scene(s, request(s)), "lane") == ["stream 7"] * 8


def test_the_lane_of_the_selection_is_shown_even_when_others_must_go() -> None:
    s = job(1, many_lanes(100))
    scene = picture_scene(s, request(s, selection=Selection(slice=ref_of(s, 0, "k99"))))
    assert "stream 99" in words(scene, "lane")
    assert words(scene, "callout")[0] == "k99"


def test_rows_as_on_the_screen_follow_its_scroll_position() -> None:
    s = job(8)
    placement = place(build_tree(s))
    top = next(r.y for r in placement.rows if r.lane is None and r.group.id == 3)
    scene = picture_scene(s, request(s, view=ViewRows(placement, top, 300)))
    assert words(scene, "header")[0] == "rank 3"
    assert "lanes not shown" in words(scene, "more")[0]
    assert_laid_out(scene)
    collapsed = place(build_tree(s), frozenset(range(8)))
    folded = picture_scene(s, request(s, view=ViewRows(collapsed, 0, collapsed.height)))
    assert [w for w in words(folded, "header") if w.startswith("rank")] == [f"rank {r}" for r in range(8)]
    assert words(folded, "lane") == []


def test_time_before_and_after_the_files_is_hatched() -> None:
    s = job(1)
    origin = s.origin_ns()
    scene = picture_scene(s, request(s, window=TimeRange(origin - 1100 * US, origin + 1900 * US)))
    (image,) = (i for i in scene.items if isinstance(i, SceneImage))
    hatches = [i.bounds for i in scene.items if isinstance(i, SceneHatch)]
    assert [(h.x, h.right) for h in hatches] == [
        pytest.approx((image.bounds.x, image.bounds.x + image.bounds.width / 3)),
        pytest.approx((image.bounds.x + image.bounds.width * 1995 / 3000, image.bounds.right)),
    ]


def test_an_empty_window_of_a_job_says_that_nothing_was_recorded() -> None:
    s = job(1)
    origin = s.origin_ns()
    scene = picture_scene(s, request(s, window=TimeRange(origin + 10**12, origin + 2 * 10**12)))
    assert "Nothing was recorded in this window." in words(scene, "more")
    assert_laid_out(scene)
    assert_laid_out(picture_scene(Session(), PictureRequest(TimeRange(0, 1000), 640, 360, load_theme("dark"))))


def test_a_picture_too_low_for_any_lane_says_so() -> None:
    s = job(1, tuple(("cpu_op", f"deep{n}", n, 1000 - 2 * n, 1) for n in range(90)))
    scene = picture_scene(s, request(s, 480, 270))
    assert "There is no room for a lane in a picture of this size." in words(scene, "more")
    assert "1 more lane not shown, all of 1 rank among them" in words(scene, "more")
    assert_laid_out(scene)


def test_names_from_files_are_shown_without_control_characters() -> None:
    s = job(1)
    scene = picture_scene(s, request(s, selection=Selection(slice=ref_of(s, 0, HOSTILE))))
    assert words(scene, "callout")[0] == HOSTILE.replace("\x07", "\\x07")
    assert all(t.text.isprintable() for t in scene.texts())


def test_long_titles_wrap_and_stay_inside() -> None:
    s = job(1)
    scene = picture_scene(s, request(s, title="word " * 60))
    assert len(words(scene, "title")) == 2
    assert "…" in words(scene, "title")[1]
    assert_laid_out(scene)


def test_the_same_request_gives_the_same_scene() -> None:
    s = job(2)
    a, b = (picture_scene(s, request(s, **everything(s))) for _ in range(2))
    assert [i for i in a.items if not isinstance(i, SceneImage)] == [
        i for i in b.items if not isinstance(i, SceneImage)
    ]


def test_widths_come_from_the_measure_that_is_given() -> None:
    s = job(1)
    scene = picture_scene(s, request(s), lambda text, font: 2 * plain_measure(text, font))
    assert_laid_out(scene)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"width": 100}, "at least 480x270"),
        ({"height": 20_000}, "at most 16384"),
        ({"window": TimeRange(5, 5)}, "window is empty"),
    ],
)
def test_impossible_pictures_are_refused(given: dict[str, object], sentence: str) -> None:
    s = job(1)
    with pytest.raises(UsageError, match=sentence):
        picture_scene(s, request(s, **given))  # type: ignore[arg-type]


def test_texts_grow_slower_than_the_picture() -> None:
    assert size_factor(1280, 720) == 1.0
    assert 1.0 < size_factor(2560, 1440) < 2.0
    assert size_factor(480, 270) == 0.85
