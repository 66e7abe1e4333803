"""What traces fill into the card: sizes of dimensions, devices, types; and what they must not fill in."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.build import Event, call, kernel, make_session, make_trace, op
from tests.support.pipeline_job import PipelineJob, one_f_one_b
from tests.support.ranks import RankJob
from viewer.analyses.card_fill import filled_card, with_filled_card
from viewer.base.job_card import EMPTY_CARD, JobCard
from viewer.store.meta import DeviceInfo
from viewer.store.session import Session

H100 = {"totalGlobalMem": 85_017_755_648, "numSms": 132}


def job(*events: Event, name: str = "NVIDIA H100 80GB HBM3", **properties: Any) -> Session:
    work = [call("cudaLaunchKernel", 0, 5, corr=1), kernel("gemm", 10, 30, corr=1), *events]
    return make_session(make_trace(*work, devices=[DeviceInfo(0, name, {**H100, **properties})]))


def product(dtype: str, m: int, start: int, name: str = "aten::mm") -> Event:
    args = {"Input Dims": [[m, 64], [64, 64]], "Input type": [dtype, dtype]}
    return op(name, start, 5, args=args)


def test_dimensions_come_from_the_names_of_groups_and_from_the_world() -> None:
    card = filled_card(RankJob(ranks=4, steps=2, sends=True).session(), EMPTY_CARD)
    # 2 stages x 2 replicas; sends use groups of pairs that are called pipeline.
    assert (card.plan.world_size, card.plan.dp, card.plan.pp, card.plan.tp, card.plan.cp) == (4, 2, 2, 1, 1)
    assert card.source("plan.dp") == 'size of the groups "DATA_PARALLEL_GROUP"'
    assert card.source("plan.tp") == "the other dimensions are the whole world"


def test_groups_that_contradict_the_world_fill_in_nothing() -> None:
    session = RankJob(ranks=4, steps=2).session()
    stated = EMPTY_CARD.with_value("plan.world_size", 3)
    assert filled_card(session, stated).plan.dp is None  # 2 x 2 ranks are no 3
    assert filled_card(session, EMPTY_CARD).plan.dp == 2


def test_what_a_person_said_stays() -> None:
    session = RankJob(ranks=4, steps=2).session()
    card = filled_card(session, EMPTY_CARD.with_value("plan.dp", 1).with_value("plan.tp", 2))
    assert (card.plan.dp, card.plan.tp, card.source("plan.tp")) == (1, 2, None)
    again = filled_card(session, card.stated())
    assert again == card
    assert with_filled_card(session, card).card == card  # what was filled in is not taken for a person's word


def test_a_lone_gpu_without_communication_is_the_world() -> None:
    assert filled_card(job(), EMPTY_CARD).plan.world_size == 1
    assert filled_card(job(kernel("ncclDevKernel_AllReduce", 50, 9)), EMPTY_CARD).plan.world_size is None


def test_the_device_and_its_peak_for_the_dtype() -> None:
    card = filled_card(job(product("c10::BFloat16", 64, 50)), EMPTY_CARD)
    assert (card.run.dtype, card.hardware.gpu) == ("bf16", "NVIDIA H100 80GB HBM3")
    assert (card.hardware.peak_flops, card.hardware.memory_bytes) == (989_400_000_000_000, 85_017_755_648)
    assert card.hardware.link_bytes_per_second == 450 * 10**9
    source = card.source("hardware.peak_flops") or ""
    assert "datasheet" in source
    assert source.endswith("bf16")
    stated = filled_card(job(), EMPTY_CARD.with_value("run.dtype", "fp8"))
    assert stated.hardware.peak_flops == 1_978_900_000_000_000
    assert filled_card(job(), EMPTY_CARD).hardware.peak_flops is None  # nobody tells the dtype


def test_an_unknown_device_has_no_peak_but_its_memory() -> None:
    card = filled_card(job(product("c10::Half", 64, 50), name="Some GPU", numSms=9), EMPTY_CARD)
    assert (card.hardware.gpu, card.hardware.peak_flops) == ("Some GPU", None)
    assert card.hardware.memory_bytes == H100["totalGlobalMem"]


@pytest.mark.parametrize(
    ("events", "dtype"),
    [
        ([product("c10::BFloat16", 64, 50), product("float", 8, 60)], "bf16"),
        ([product("c10::BFloat16", 8, 50), product("float", 64, 60)], "fp32"),
        ([product("float", 64, 50), kernel("ampere_sgemm_tf32_128", 90, 5)], "tf32"),
        ([product("c10::Float8_e4m3fn", 64, 50, "aten::_scaled_mm")], "fp8"),
        ([product("float", 64, 50, "aten::linear")], None),  # autocast casts below it
        ([kernel("sm90_xmma_gemm_bf16bf16_bf16f32", 90, 50)], "bf16"),
        ([kernel("ampere_fp16_s16816gemm_fp16_128x64", 90, 50)], "fp16"),
        ([kernel("Cijk_Alik_Bljk_HHS_BH_MT64", 90, 50)], "fp16"),
        ([kernel("elementwise_kernel_bf16", 90, 50)], None),
        ([op("aten::mm", 50, 5, args={"Input Dims": "x", "Input type": [3]})], None),
    ],
)
def test_the_dtype_of_most_of_the_products_work(events: list[Event], dtype: str | None) -> None:
    assert filled_card(job(*events), EMPTY_CARD).run.dtype == dtype


def test_a_job_on_two_kinds_of_devices_has_no_one_gpu() -> None:
    a = make_trace(kernel("k", 0, 5), rank=0, devices=[DeviceInfo(0, "NVIDIA A10", {})])
    b = make_trace(kernel("k", 0, 5), rank=1, path="b.json", devices=[DeviceInfo(0, "NVIDIA L4", {})])
    card: JobCard = filled_card(make_session(a, b), EMPTY_CARD)
    assert card.hardware == EMPTY_CARD.hardware


def test_a_stated_gpu_is_looked_up_where_the_traces_name_none() -> None:
    session = make_session(make_trace(kernel("k", 0, 5)))
    stated = EMPTY_CARD.with_value("hardware.gpu", "NVIDIA A100-SXM4-40GB").with_value("run.dtype", "bf16")
    card = filled_card(session, stated)
    assert (card.hardware.peak_flops, card.hardware.memory_bytes) == (312 * 10**12, 40 * 10**9)
    assert card.source("hardware.gpu") is None


def test_micro_batches_are_counted_where_the_tokens_hang_on_them() -> None:
    session = PipelineJob(one_f_one_b(4, 6), [10**6] * 4, [2 * 10**6] * 4).session()
    stated = EMPTY_CARD.with_value("plan.pp", 4).with_value("plan.dp", 1)
    assert filled_card(session, stated).run.micro_batches is None
    stated = stated.with_value("run.micro_batch_size", 2).with_value("run.sequence_length", 8)
    card = filled_card(session, stated)
    assert (card.run.micro_batches, card.source("run.micro_batches")) == (6, "passes of the pipeline")


def test_hosts_are_those_that_every_trace_states() -> None:
    traces = [make_trace(kernel("k", 0, 5), rank=r, path=f"{r}.json", host=f"node{r // 2}") for r in range(4)]
    card = filled_card(make_session(*traces), EMPTY_CARD)
    assert card.hardware.hosts == (("node0", (0, 1)), ("node1", (2, 3)))
    assert card.source("hardware.hosts") == "host names that the traces state"
    assert card.stated().hardware.hosts == ()
    traces[3].meta.host = None
    assert filled_card(make_session(*traces), EMPTY_CARD).hardware.hosts == ()
    traces[3].meta.host = "no\x1bde"
    assert filled_card(make_session(*traces), EMPTY_CARD).hardware.hosts == ()
