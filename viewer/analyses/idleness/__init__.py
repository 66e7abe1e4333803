"""Where the idle time of a device goes, one question per file.

Its gaps cut into parts by cause, the list of gaps, launch-bound stretches, the length of launch queues, streams that
ran one after the other.
``viewer/analyses/idle.py`` has the sums.
"""
