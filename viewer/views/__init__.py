"""View models: (session, selection, window, pixels) -> plain arrays, texts and images to draw. No Qt.

One file per panel; a folder where a view model takes several. Here stand also what all of them share: ``figures`` and
``text`` (one voice), ``subject`` (one slice as they see it), ``communicators``.
"""
