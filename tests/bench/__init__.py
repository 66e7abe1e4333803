"""Measurements, run by hand: ``python -m tests.bench ingest --json FILE``. The test command does not collect them."""
