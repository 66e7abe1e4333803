"""All importers, one line each; the surest sniff wins, at a tie the one that stands first."""

from __future__ import annotations

from pathlib import Path

from viewer.base.errors import InputError
from viewer.base.registry import Registry
from viewer.importers.ascend import AscendImporter
from viewer.importers.base import Importer
from viewer.importers.chrome import ChromeImporter
from viewer.importers.kineto import KinetoImporter
from viewer.importers.megatronapp import MegatronAppImporter
from viewer.importers.memory_html import MemoryHtmlImporter
from viewer.importers.memory_summary import MemorySummaryImporter
from viewer.importers.memory_timeline import MemoryTimelineImporter
from viewer.importers.proton import ProtonImporter
from viewer.importers.refuse import foreign_json, refusal
from viewer.importers.rocprofv3 import Rocprofv3Importer
from viewer.importers.source import Source, as_source, explain_os_error, text_head
from viewer.importers.straggler import StragglerImporter
from viewer.importers.straggler_parquet import StragglerParquetImporter
from viewer.importers.torch_snapshot import TorchSnapshotImporter
from viewer.importers.trace_viewer import TraceViewerImporter
from viewer.importers.viztracer import VizTracerImporter

IMPORTERS: Registry[Importer] = Registry("importer")
IMPORTERS.add(VizTracerImporter.name, VizTracerImporter())
IMPORTERS.add(AscendImporter.name, AscendImporter())
IMPORTERS.add(KinetoImporter.name, KinetoImporter())
IMPORTERS.add(TraceViewerImporter.name, TraceViewerImporter())
IMPORTERS.add(StragglerImporter.name, StragglerImporter())
IMPORTERS.add(StragglerParquetImporter.name, StragglerParquetImporter())
IMPORTERS.add(MegatronAppImporter.name, MegatronAppImporter())
IMPORTERS.add(Rocprofv3Importer.name, Rocprofv3Importer())
IMPORTERS.add(ProtonImporter.name, ProtonImporter())
IMPORTERS.add(TorchSnapshotImporter.name, TorchSnapshotImporter())
IMPORTERS.add(MemoryTimelineImporter.name, MemoryTimelineImporter())
IMPORTERS.add("memory-html", MemoryHtmlImporter())
IMPORTERS.add(MemorySummaryImporter.name, MemorySummaryImporter())
IMPORTERS.add(ChromeImporter.name, ChromeImporter())


def importer_of(given: Source | Path) -> tuple[Importer, int]:
    """The importer of a source and how sure it is. Raises InputError when no importer knows the content."""
    source = as_source(given)
    path = source.path
    try:
        head = text_head(source)
    except OSError as error:
        raise explain_os_error(path, error) from None
    except (EOFError, ValueError) as error:
        raise InputError(str(path), f"cannot be read in its archive ({error})", "", "Copy the archive again.") from None
    best, sure = None, 0
    for importer in IMPORTERS:
        score = importer.sniff(head)
        if score > sure:
            best, sure = importer, score
    if sure < 2 and (known := foreign_json(head)):
        raise InputError(str(path), known[0], "", known[1])
    if best is None:
        raise InputError(str(path), *refusal(path, head, source.size))
    return best, sure
