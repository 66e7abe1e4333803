"""Judging runs against earlier ones: robust statistics, change points, drift. Numbers in, verdicts out.

No file and no trace is read here: what a run's figures are is in ``viewer.store.run_record``, how they come from a
session in ``figures``.
"""
