from __future__ import annotations

import itertools

from viewer.base.scene import Bounds
from viewer.views.picture.callouts import Wanted, leader, link, place_callouts

AREA = Bounds(100, 50, 800, 400)


def test_a_free_place_is_taken_as_asked_for() -> None:
    assert place_callouts([Wanted(300, 300, 120, 40, 24, -44)], AREA, []) == [Bounds(324, 256, 120, 40)]


def test_boxes_stay_inside_and_off_their_anchor_in_every_corner() -> None:
    for x, y in itertools.product((100, 500, 900), (50, 250, 450)):
        (box,) = place_callouts([Wanted(x, y, 200, 60, 24, -44)], AREA, [])
        assert AREA.contains(box)
        assert not (box.x < x < box.right and box.y < y < box.bottom)


def test_boxes_do_not_overlap_while_there_is_room() -> None:
    wanted = [Wanted(500 + i, 240, 150, 40, 24, -44) for i in range(20)]
    boxes = place_callouts(wanted, AREA, [])
    assert all(a.overlap(b) == 0 for a, b in itertools.combinations(boxes, 2))
    assert all(AREA.contains(b) for b in boxes)


def test_what_must_stay_visible_is_not_covered_when_there_is_another_place() -> None:
    keep = Bounds(320, 250, 140, 60)
    (box,) = place_callouts([Wanted(300, 300, 120, 40, 24, -44)], AREA, [keep])
    assert box.overlap(keep) == 0


def test_the_leader_ends_on_the_border_nearest_to_the_anchor() -> None:
    box = Bounds(300, 200, 100, 40)
    assert leader(box, 350, 100) == (350, 200)
    assert leader(box, 350, 300) == (350, 240)
    assert leader(box, 10, 10) == (310, 200)


def test_a_leader_goes_around_what_must_stay_visible_when_it_can() -> None:
    header = Bounds(100, 270, 150, 20)
    (box,) = place_callouts([Wanted(160, 300, 300, 40, 16, -60)], AREA, [header])
    x, y = leader(box, 160, 300)
    for n in range(11):
        at = Bounds(160 + (x - 160) * n / 10, 300 + (y - 300) * n / 10, 0.01, 0.01)
        assert header.overlap(at) == 0


def test_a_box_is_linked_to_the_nearest_point_of_its_target() -> None:
    target = Bounds(100, 100, 50, 20)
    assert link(Bounds(120, 200, 100, 40), target) == (135, 200, 135, 120)
    assert link(Bounds(200, 90, 100, 40), target) == (200, 110, 150, 110)
    assert link(Bounds(0, 0, 10, 10), target) == (10, 10, 100, 100)
