"""Rows of a table go to a file that the user chooses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog

if TYPE_CHECKING:
    from viewer.app.main_window import MainWindow


def save_rows(window: MainWindow, name: str, records: list[list[str]]) -> None:
    """Ask for a file, ``name``.csv by default, and write the rows, heads first."""
    start = str(Path(window.settings.last_folder or Path.home()) / f"{name}.csv")
    chosen, _ = QFileDialog.getSaveFileName(window, "Save Table", start, "CSV (*.csv)")
    if not chosen:
        return
    from viewer.exporters.table_csv import write_csv

    count = len(records) - 1
    path = Path(chosen if chosen.lower().endswith(".csv") else chosen + ".csv")
    try:
        write_csv(path, records)
    except OSError as error:
        window.say("error", f"{path}: cannot be written ({error.strerror}). Choose another place.")
        return
    window.say("info", f"{count:,} row{'' if count == 1 else 's'} written to {path}.")
