"""From a path to tables: one file per format, plus one line in ``registry.py``.

An importer sniffs by content, streams its source, counts every repair and rejection in the ledger and hands raw
columns to ``store``. It computes no figure.
"""
