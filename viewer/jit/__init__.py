"""Numba-compiled loops over plain arrays: interval algebra, layout, level of detail, rasters, JSON scanning.

Functions take and return numpy arrays or scalars; they know no table, no file and no widget. Every kernel has a
plain reference beside it (``reference.py``) that only the tests use. Loops are sequential and release the GIL:
``parallel=True`` from two Python threads aborts the process, so parallelism lives in the thread pool above.
"""
