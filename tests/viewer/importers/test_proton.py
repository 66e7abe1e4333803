from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.viewer.importers.golden import codes, lines
from tests.viewer.importers.texts import open_one, problem
from viewer.analyses.gpu_work import gpu_work


def node(name: str, *children: Any, **metrics: Any) -> dict[str, Any]:
    named = {k.replace("time", "time (ns)"): v for k, v in metrics.items()}
    return {"children": list(children), "frame": {"name": name, "type": "function"}, "metrics": named}


TREE = [
    node(
        "ROOT",
        node("attention", node("qk", time=300, device_id="1", count=2), node("pv", time=200, device_id="1"), time=50),
        node("mlp", node("gemm", time=1000, device_id="0", device_type="CUDA")),
        time=0,
    ),
    {"CUDA": {"0": {"arch": "90", "num_sms": 132}, "1": {"arch": "90"}}},
]
LANE = "THREAD 0/0 [Proton profile/totals in tree order (positions are not times)]"


def write(path: Path, document: Any) -> Path:
    text = json.dumps(document).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def test_a_tree_of_totals_is_laid_out_and_counts_as_no_gpu_work(tmp_path: Path) -> None:
    trace = open_one(tmp_path, write(tmp_path / "p.hatchet", TREE))
    assert lines(trace) == [
        f"{LANE} 0+1550 OTHER proton_scope ROOT",
        f"{LANE} .0+550 OTHER proton_scope attention",
        f"{LANE} .550+1000 OTHER proton_scope mlp",
        f"{LANE} ..0+300 OTHER proton_total qk",
        f"{LANE} ..300+200 OTHER proton_total pv",
        f"{LANE} ..550+1000 OTHER proton_total gemm",
    ]
    meta = trace.meta
    assert (meta.format, meta.ledger.read, meta.ledger.kept, meta.rank) == ("proton", 6, 6, None)
    assert codes(trace) == {"totals-not-times": 6, "no-gpu-work": 1}
    assert len(gpu_work(trace)) == 0
    assert [(d.id, d.name) for d in meta.devices] == [(0, "CUDA 90"), (1, "CUDA 90")]
    assert trace.args(3) == {"time (ns)": 300, "device_id": "1", "count": 2, "type": "function"}


def test_bad_nodes_are_counted(tmp_path: Path) -> None:
    document = [node("ROOT", 7, node("a", time=-5), node("b", time="long"), node("c", time=1.5), node("d"), None)]
    trace = open_one(tmp_path, write(tmp_path / "p.json", document))
    ledger = trace.meta.ledger
    assert (ledger.read, ledger.kept, ledger.rejected, ledger.reasons) == (7, 5, 2, {"not-an-object": (2, -1)})
    assert (codes(trace)["negative-duration"], codes(trace)["total-unreadable"]) == (1, 1)
    assert int(trace.slices.dur_ns.max()) == 2


def test_other_trees_are_refused_in_words(tmp_path: Path) -> None:
    cycles = write(tmp_path / "cycles.json", [node("ROOT", node("k", cycles=5))])
    assert "without a time in ns (its metrics: cycles)" in problem(tmp_path, cycles).problem
    whole = json.dumps(TREE)
    for size in (300, len(whole) // 2, len(whole) - 1):
        cut = tmp_path / f"cut{size}.json"
        cut.write_text(whole[:size])
        assert problem(tmp_path, cut).problem
    packed = tmp_path / "cut.json.gz"
    packed.write_bytes(gzip.compress(whole.encode())[:-30])
    assert "cannot be read to its end" in problem(tmp_path, packed).problem
    far = write(tmp_path / "far.json", [node("R", node("a", time=2**60), node("b", time=2**60))])
    assert "beyond" in problem(tmp_path, far).problem


def test_a_deep_tree_is_read_or_refused_in_words(tmp_path: Path) -> None:
    text = '{"children":[' * 5000 + '{"frame":{"name":"leaf"},"children":[],"metrics":{"time (ns)":1}}' + "]}" * 5000
    path = tmp_path / "deep.json"
    path.write_text(f"[{text}]")
    assert problem(tmp_path, path).problem


def test_the_real_file(shared: Path, tmp_path: Path) -> None:
    trace = open_one(tmp_path, shared / "data/proton/proton_cuda.json")
    assert lines(trace) == [
        f"{LANE} 0+409600 OTHER proton_scope ROOT",
        f"{LANE} .0+204800 OTHER proton_total foo0",
        f"{LANE} .204800+204800 OTHER proton_total foo1",
    ]
    assert trace.args(1)["flops8"] == 100000000000.0
