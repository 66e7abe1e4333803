"""Ids, times, units, errors, cancellation and plain frame dataclasses.

Everything may import ``base``; ``base`` imports nothing of the project. No I/O, no Qt, no numba.
"""
