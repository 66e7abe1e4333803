"""Export and copy of the picture from the window."""

from __future__ import annotations
