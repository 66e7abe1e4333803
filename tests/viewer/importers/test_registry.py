"""Which importer claims which file: by content, under any name, exactly one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.viewer.importers.texts import open_one
from viewer.base.errors import InputError
from viewer.importers.registry import IMPORTERS, importer_of
from viewer.importers.source import text_head

CLAIMS = {
    "kineto": ("kineto-single/*.json*", "kineto-multirank/*/*.json*"),
    "chrome": ("chrome-odd/*.json", "jax-xla/tf_trace_viewer_trace.json"),
    "viztracer": ("viztracer/*.json",),
    "straggler-timeline": ("megascale/straggler_ST/*timeline-ST.json.gz",),
    "straggler-parquet": ("megascale/straggler_ST/*.parquet",),
    "megatronapp": ("megascale/megatronapp/*.json",),
    "proton": ("proton/*.json",),
    "rocprofv3": ("rocm/*.json.gz",),
    "torch-snapshot": ("memory/*.pickle",),
    "memory-timeline": ("memory/*.raw.json.gz",),
}
REFUSED = {
    "cpu-profile/*.speedscope.json": "speedscope profile",
    "jax-xla/*.memory_viewer.json": "memory viewer",
    "chakra/*.json.gz": "execution trace",
    "megascale/straggler_ST/result-ST.json": "straggler analysis",
}


def samples(shared: Path, patterns: tuple[str, ...]) -> list[Path]:
    found = [path for pattern in patterns for path in sorted((shared / "data").glob(pattern))]
    assert found
    return found


@pytest.mark.parametrize("name", CLAIMS)
def test_every_sample_is_claimed_by_its_importer_whatever_its_name(shared: Path, tmp_path: Path, name: str) -> None:
    for path in samples(shared, CLAIMS[name]):
        unknown = tmp_path / "unknown"
        shutil.copyfile(path, unknown)
        for file in (path, unknown):
            importer, sure = importer_of(file)
            assert (importer.name, sure >= 2) == (name, True), file


@pytest.mark.parametrize("name", sorted(set(CLAIMS) - {"kineto", "chrome"}))
def test_only_two_may_be_sure_of_a_sample_and_the_order_decides(shared: Path, name: str) -> None:
    """VizTracer writes a key that Kineto's sniffer takes for its own; no other two claim one file with certainty."""
    for path in samples(shared, CLAIMS[name]):
        head = text_head(path)
        sure = {i.name for i in IMPORTERS if i.sniff(head) == 3}
        assert sure - {name} <= ({"kineto"} if name == "viztracer" else set()), path


def test_kineto_and_chrome_samples_are_no_other_importers(shared: Path) -> None:
    for path in samples(shared, (*CLAIMS["kineto"], *CLAIMS["chrome"])):
        head = text_head(path)
        assert {i.name for i in IMPORTERS if i.sniff(head)} <= {"kineto", "chrome"}, path


@pytest.mark.parametrize("pattern", REFUSED)
def test_other_json_is_refused_by_what_it_is(shared: Path, tmp_path: Path, pattern: str) -> None:
    for path in samples(shared, (pattern,)):
        unknown = tmp_path / "unknown"
        shutil.copyfile(path, unknown)
        for file in (path, unknown):
            with pytest.raises(InputError) as caught:
                importer_of(file)
            assert REFUSED[pattern] in caught.value.problem
            assert caught.value.next_step


def test_words_inside_a_trace_do_not_make_it_another_format(tmp_path: Path) -> None:
    """A trace may carry the marks of other formats as text."""
    path = tmp_path / "t.json"
    path.write_text(
        '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "rocprofiler-sdk-tool viztracer_metadata", "pid": 1, '
        '"tid": 1, "ts": 1, "dur": 1, "args": {"note": "\\"cat\\": \\"FEE\\", \\"frame\\": {, \\"children\\": [", '
        '"hloModule": 1, "job_meta": {}, "$schema": "https://www.speedscope.app/x"}}]}'
    )
    assert importer_of(path)[0].name == "kineto"
    assert open_one(tmp_path, path).meta.events == 1


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", "[1, 2]", "null", '{"a": 1}'])
def test_no_importer_is_sure_of_nothing(text: str) -> None:
    assert all(importer.sniff(text.encode()) < 2 for importer in IMPORTERS)
