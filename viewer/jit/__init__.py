"""Compiled loops over plain arrays: interval algebra, layout, level of detail, rasters, JSON scanning.

Functions take and return numpy arrays or scalars; they know no table, no file and no widget. They are compiled by
viewer.jit.lean, or run in plain Python as ``function.py_func``; the larger have a reference (``reference.py``) that
only the tests use. Loops are sequential and release the GIL: parallelism lives in the thread pool above.
"""
