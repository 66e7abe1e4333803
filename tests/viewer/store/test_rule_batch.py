from __future__ import annotations

import random
import re

import pyarrow as pa
import pytest

from viewer.store.rule_batch import NameRules, weakened
from viewer.store.rules import shipped_rules, user_rules

NAMES = (
    *(
        "",
        "x",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        "ncclKernel_Broadcast",
        "void at::native::reduce_kernel<512>",
    ),
    *("block_all_reduce", "my_all_reduce_kernel", "warp_allreduce", "Memcpy PtoP (Device -> Device)", "Memcpy HtoD"),
    *("MEMORY_COPY_DEVICE_TO_DEVICE (device 1 -> device 2)", "MEMORY_COPY_DEVICE_TO_DEVICE (device 1 -> device 1)"),
    *("MEMORY_COPY_DEVICE_TO_DEVICE (device 1 -> device 12)", "reduce_scatter_reduce", "triton_poi_all_reduce_0"),
    *(
        "gemm_bf16_all_reduce",
        "(anonymous namespace)::all_gather<true>",
        "f<all_gather>",
        "AllReduce\n",
        "\u017fcatter",
    ),
    *(
        "nccl\u212aernel",
        "n\x1cccl",
        "caf\u00e9 ncclKernel",
        "a" * 5_000 + "ncclDevKernel",
        "DeepEP dispatch",
    ),
)


@pytest.mark.parametrize("cat", ["kernel", "Kernel", "gpu_memcpy", "memset", "unknown"])
def test_many_names_get_the_rules_that_each_gets_alone(cat: str) -> None:
    rules = shipped_rules()
    chance = random.Random(3)
    names = list(NAMES)
    for _ in range(1_500):
        a, b = chance.choice(NAMES)[:40], chance.choice(NAMES)[:40]
        names.append(a[: chance.randrange(len(a) + 1)] + chance.choice(("", "_", " ", "<", "::")) + b)
    found = rules.classes_of(cat, pa.array(names, pa.large_string()))
    assert [rules.classes[i].id for i in found] == [rules.class_of(cat, name).id for name in names]
    paints = rules.paints_of(cat, pa.array(names, pa.large_string()))
    assert paints.tolist() == [rules.paint(cat, name) for name in names]


def test_a_users_rule_may_look_around() -> None:
    text = "[[rule]]\nid='mine'\nclass='comm'\nwhy='w'\nname='(?<!no_)(x)(?=y)(?!yz)\\1?'\n"
    rules = user_rules(text)
    names = ["xy", "no_xy", "xyz", "xx", "ncclKernel xy", "ncclDevKernel"]
    found = rules.classes_of("kernel", pa.array(names, pa.large_string()))
    assert [rules.classes[i].id for i in found] == [rules.class_of("kernel", n).id for n in names]
    assert rules.classes[found[0]].id == "mine"


@pytest.mark.parametrize(
    ("pattern", "weak"),
    [
        ("a(?!b)c", "ac"),
        (r"(?<!x\)y)[(?=]z", "[(?=]z"),
        ("((?=a(b)c)d|e)", "(d|e)"),
        ("[](?!]a(?!b)", "[](?!]a"),
        ("plain", "plain"),
    ],
)
def test_a_pattern_without_its_look_arounds(pattern: str, weak: str) -> None:
    assert weakened(pattern) == weak


def test_no_names_and_no_rules() -> None:
    assert len(NameRules([]).first(pa.array([], pa.large_string()))) == 0
    assert NameRules([]).first(pa.array(["a"], pa.large_string())).tolist() == [0]
    patterns = [re.compile("a", re.IGNORECASE), None, re.compile("b")]
    assert NameRules(patterns).first(pa.array(["A", "b"], pa.large_string())).tolist() == [0, 1]
