"""What a job's figures say about what to change next: one file per kind of finding, and their registry.

A detector takes a session and yields :class:`~viewer.analyses.findings.base.JobFinding`. It reads figures of other
analyses and computes none that a panel might want as well; no text for one panel only, no pixel, no file.
"""
