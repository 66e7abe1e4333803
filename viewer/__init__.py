"""Rankscope: a viewer for the profiler traces of every rank of a GPU job.

Sub-packages form layers; ``lint-imports`` checks the direction:
``app -> {panels, exporters} -> views -> analyses -> store -> jit -> base`` and ``importers -> store``.
Qt (PySide6, pyqtgraph) is imported in ``panels``, ``app`` and the sibling package ``widgets`` only.
"""

__version__ = "0.1.0"
