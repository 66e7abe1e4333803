"""Questions that need several ranks: which collectives belong together, whose clock is off, who waited for whom.

``operations`` reads one trace; ``groups``, ``matching``, ``alignment`` and ``waits`` put the traces of a job together.
Nothing here changes a time of a file: a clock is a result, and the session applies it on reading.
"""
