"""What a clicked kernel computed and moved."""

from __future__ import annotations

from typing import Any

from tests.support.build import call, copy, kernel, make_session, make_trace, op, row_named
from viewer.base.frames import Section
from viewer.store.meta import DeviceInfo
from viewer.views.breakdown.kernel_work import work_sections
from viewer.views.subject import Subject

H100 = [DeviceInfo(0, "NVIDIA H100 80GB HBM3", {"numSms": 132})]


def section(name: str, *events: Any) -> Section | None:
    session = make_session(make_trace(*events, devices=H100))
    item = session.inputs[0]
    found = work_sections(Subject(session, item, row_named(item.trace, name)))
    return found[0] if found else None


def values(found: Section | None) -> dict[str, str]:
    assert found is not None
    return {f.label: f.value for f in found.figures}


def test_a_product_against_peak_memory_and_roofline() -> None:
    args = {"Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16"] * 2}
    found = section(
        "nvjet_x",
        op("aten::mm", 0, 50, args=args),
        call("cudaLaunchKernel", 5, 2, corr=1),
        kernel("nvjet_x", 100, 200_000, corr=1),
    )
    got = values(found)
    # 2 x 4096^3 = 137.4 GFLOP in 200 us; 3 x 4096^2 x 2 bytes = 96 MiB
    assert got["FLOPs"] == "137 GFLOP"
    assert got["rate"] == "687 TFLOP/s · 69.5 % of peak"
    assert got["bytes, at least"] == "96 MiB"
    assert got["at best"] == "138.9 us, bound by its arithmetic · it takes 1.4 times that"
    assert found is not None
    assert all(f.how for f in found.figures)


def test_an_addition_shows_the_rate_of_the_memory() -> None:
    args = {"Input Dims": [[1000, 1000], [1000, 1000]], "Input type": ["float"] * 2}
    got = values(
        section(
            "elementwise",
            op("aten::add", 0, 50, args=args),
            call("cudaLaunchKernel", 5, 2, corr=1),
            kernel("elementwise", 100, 6_000, corr=1),
        )
    )
    assert "FLOPs" not in got
    assert got["memory rate"].startswith("2 TB/s · 59.7 %")


def test_what_is_not_counted_says_why_and_copies_have_a_section_of_their_own() -> None:
    found = section(
        "gemm_x", op("my::<b>op", 0, 50), call("cudaLaunchKernel", 5, 2, corr=1), kernel("gemm_x", 100, 5, corr=1)
    )
    assert found is not None
    assert found.note == "FLOPs are not counted: launched by an operator that this table does not know (my::<b>op)."
    assert section("Memcpy DtoD", copy("Memcpy DtoD", 0, 5)) is None
    assert section("plain", kernel("plain", 0, 5)) is None
