"""The commands ``check`` and ``watch``: running loads, recording runs, judging them, and what an alarm brings along.

The statistics are in ``viewer.analyses.gate``, the store in ``viewer.store.baseline``, the outputs in
``viewer.exporters``.
"""
