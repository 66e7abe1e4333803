"""The demo job: a small training run on a simulated clock, with its truth beside it, and the command that opens it.

``job`` is the way in; it needs neither numpy nor Qt. Nothing here is measured, and nothing else may depend on it.
"""
