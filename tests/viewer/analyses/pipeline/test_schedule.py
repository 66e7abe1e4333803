"""Orders of passes, theory, and what replay says of both."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.pipeline_job import Item, gpipe, interleaved, one_f_one_b
from viewer.analyses.pipeline.marks import PassName, pass_name
from viewer.analyses.pipeline.model import Communication, Passes, PassKind
from viewer.analyses.pipeline.replay import Order
from viewer.analyses.pipeline.schedule import chunks_by_order, infer, theory_ns, theory_share
from viewer.analyses.pipeline.stages import plan_lines
from viewer.base.job_card import PlanCard

NONE = Communication(*(np.empty(0, np.int64),) * 2, np.empty(0, np.uint8), np.empty(0, np.int64))


def passes(items: list[Item]) -> Passes:
    """Passes in an order, without times that matter."""
    kind = np.array(["FBW".index(i[0]) for i in items], np.uint8)
    zero = np.arange(len(items), dtype=np.int64)
    micro, chunk = (np.array([i[k] for i in items], np.int64) for k in (1, 2))
    return Passes(0, kind, micro, chunk, zero, zero + 1, zero * 0 + 1, zero * 0 + 1, zero, len(items), NONE)


@pytest.mark.parametrize(
    ("order", "chunks", "key"),
    [
        (one_f_one_b(4, 8), 1, "1f1b"),
        (one_f_one_b(4, 3), 1, "1f1b"),
        (gpipe(4, 8), 1, "gpipe"),
        (interleaved(4, 8, 2), 2, "interleaved"),
        (interleaved(2, 4, 3), 3, "interleaved"),
        ([[("F", 0, 0), ("B", 0, 0), ("F", 1, 0), ("F", 2, 0), ("B", 1, 0), ("B", 2, 0)]] * 2, 1, "unknown"),
    ],
)
def test_orders_are_known_by_their_passes(order: list[list[Item]], chunks: int, key: str) -> None:
    out = infer([(s, passes(items)) for s, items in enumerate(order)], len(order), chunks)
    assert out.key == key
    assert out.sure == (0.0 if key == "unknown" else 1.0)


@pytest.mark.parametrize(
    "order", [one_f_one_b(4, 16), gpipe(4, 16), gpipe(2, 5), one_f_one_b(2, 8), [one_f_one_b(2, 8)[1]] * 2]
)
def test_plain_orders_show_no_chunks(order: list[list[Item]]) -> None:
    sequences = [(s, passes(items)) for s, items in enumerate(order)]
    assert chunks_by_order(sequences, len(order)) is None
    assert all(chunks_by_order([one], len(order)) is None for one in sequences)


def test_passes_for_the_weights_show_zero_bubble() -> None:
    items = [("F", 0, 0), ("F", 1, 0), ("B", 0, 0), ("W", 0, 0), ("B", 1, 0), ("W", 1, 0)]
    assert infer([(0, passes(items))], 2, 1).key == "zb1p"


def test_too_few_micro_batches_leave_it_open() -> None:
    first = passes(one_f_one_b(4, 2)[0])
    assert infer([(0, first)], 4, 1).sure == 0.5
    assert infer([], 4, 1).key == "unknown"


@pytest.mark.parametrize(("stages", "micro"), [(2, 1), (2, 4), (4, 3), (4, 16), (7, 9)])
@pytest.mark.parametrize(("f", "b"), [(100.0, 100.0), (100.0, 230.0)])
def test_replay_of_equal_stages_is_theory(stages: int, micro: int, f: float, b: float) -> None:
    for key, order, chunks in (
        ("1f1b", one_f_one_b(stages, micro), 1),
        ("gpipe", gpipe(stages, micro), 1),
        ("interleaved", interleaved(stages, micro * stages, 2), 2),
    ):
        out = Order([passes(o) for o in order], chunks)
        length = np.where(out.kind == PassKind.FORWARD, f, b)
        count = micro * stages if chunks > 1 else micro
        compute = count * chunks * (f + b)
        least = theory_ns(key, stages, chunks, chunks * f, chunks * b, 0.0)
        assert least is not None
        assert out.run(np.stack((length, 2 * length))) == pytest.approx([compute + least, 2 * (compute + least)])
        late = np.zeros((1, len(length)))
        late[0, np.flatnonzero(out.across())[:1]] = 7 * f
        assert out.run(length[None], late)[0] > compute + least
        assert least / (compute + least) == pytest.approx(theory_share(key, stages, count, chunks))


def test_theory_of_the_others() -> None:
    assert theory_ns("zb1p", 4, 1, 100, 200, 90) == 3 * (300 - 180)
    assert theory_ns("dualpipe", 8, 1, 100, 200, 90) == 3 * (300 + 200 - 270)
    assert theory_ns("dualpipe", 8, 1, 100, 200, 190) == 0
    assert theory_ns("unknown", 8, 1, 100, 200, 0) is None
    assert theory_share("zb1p", 4, 8, 1) is None
    assert theory_share("1f1b", 1, 8, 1) is None


@pytest.mark.parametrize(
    "stages",
    [
        [[("F", 0, 0), ("F", 0, 0)], [("F", 0, 0)]],  # a number twice
        [[("F", 0, 0)], [("F", 1, 0)]],  # a result that no pass made
        [[("B", 0, 0), ("F", 0, 0)], [("F", 0, 0), ("B", 0, 0)]],  # a circle
    ],
)
def test_what_cannot_be_replayed_is_refused(stages: list[list[Item]]) -> None:
    with pytest.raises(ValueError, match=r"pass|micro-batch"):
        Order([passes(s) for s in stages], 1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("PP:3F12", PassName(PassKind.FORWARD, 3, 12)),
        ("PP:0I2", PassName(PassKind.BACKWARD, 0, 2)),
        ("PP:0W2", PassName(PassKind.WEIGHT, 0, 2)),
        ("PP:0SEND_F2", None),
        ("Forward 3", PassName(PassKind.FORWARD, -1, 3)),
        ("Backward 0", PassName(PassKind.BACKWARD, -1, 0)),
        ("megatron/core/pipeline_parallel/schedules.py(275): forward_step", PassName(PassKind.FORWARD)),
        ("megatron/core/pipeline_parallel/schedules.py(391): backward_step", PassName(PassKind.BACKWARD)),
        ("deepspeed/runtime/pipe/engine.py(716): _exec_forward_pass", PassName(PassKind.FORWARD)),
        ("schedules.py(1243): forward_backward_pipelining_without_interleaving", None),
        ("backward-compute", PassName(PassKind.BACKWARD)),
        ("nn.Module: forward", None),
        ("model.forward", None),
    ],
)
def test_names_of_passes(text: str, told: PassName | None) -> None:
    assert pass_name(text) == told


def test_ranks_of_a_plan() -> None:
    assert plan_lines(PlanCard(pp=2, tp=2), 8) == ((0, 4), (1, 5), (2, 6), (3, 7))
    assert plan_lines(PlanCard(pp=2, tp=2, order="pp-tp-dp"), 8) == ((0, 1), (2, 3), (4, 5), (6, 7))
    assert plan_lines(PlanCard(pp=3), 8) is None
    assert plan_lines(PlanCard(pp=2, dp=2), 8) is None
