"""The tables of a trace as declared data, the files that hold them, the cache, and the session over all ranks.

May import ``jit`` and ``base``. Knows nothing of formats (``importers``) or of figures (``analyses``).
"""
