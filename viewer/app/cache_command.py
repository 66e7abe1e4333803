"""``rankscope cache``: what is kept of traces that were opened."""

from __future__ import annotations

import time

from viewer.app.console import one_line, say
from viewer.base.units import format_bytes, format_count


def list_cache() -> int:
    """Print one line per kept trace, the latest used first."""
    from viewer.store.cache import default_cache

    cache = default_cache()
    entries = cache.entries()
    if not entries:
        say(f"The cache {one_line(str(cache.folder))} is empty.")
        return 0
    say(f"{'size':>10}  {'events':>12}  last used         source")
    for entry in entries:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        say(f"{format_bytes(entry.bytes):>10}  {format_count(entry.events):>12}  {used}  {one_line(entry.source)}")
    total = format_bytes(sum(e.bytes for e in entries))
    say(
        f"{total} of at most {format_bytes(cache.cap_bytes)}, {_traces(len(entries))}, in {one_line(str(cache.folder))}"
    )
    return 0


def clear_cache() -> int:
    """Drop everything that is kept, and say how much it was."""
    from viewer.store.cache import default_cache

    cache = default_cache()
    count = len(cache.entries())
    freed = cache.clear()
    say(f"Dropped {_traces(count)}, {format_bytes(freed)}, from {one_line(str(cache.folder))}.")
    return 0


def _traces(count: int) -> str:
    return f"{count} trace{'' if count == 1 else 's'}"
