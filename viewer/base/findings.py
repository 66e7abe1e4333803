"""Findings of the importer and the analyses, and the ledger of a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a person should know about an input; counted and named, never a log line only."""

    code: str
    severity: Severity
    count: int
    message: str
    where: str = ""


@dataclass(slots=True)
class Ledger:
    """read = kept + repaired + rejected, disjoint; the unit is an object of the event array.

    Formats without one say their unit: rocprofv3 a record of ``buffer_records``, Proton a node of the tree.

    ``reasons`` maps a named repair or rejection to (count, first place as a byte offset or -1).
    A repaired event is one that is kept after its form was mended.
    """

    read: int = 0
    kept: int = 0
    repaired: int = 0
    rejected: int = 0
    reasons: dict[str, tuple[int, int]] = field(default_factory=dict)

    def balanced(self) -> bool:
        """Whether the ledger adds up."""
        return self.read == self.kept + self.repaired + self.rejected
