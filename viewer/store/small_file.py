"""Files that a person names: small ones are read (settings, cards, records), results written. They may be anything."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from viewer.base.errors import InputError


def read_small(path: Path, most: int, what: str) -> bytes:
    """The bytes of a regular file; a pipe does not hold us up, a device does not fill the memory.

    Args:
        path: as a person wrote it.
        most: bytes that such a file may have.
        what: what it should be, for the sentence: "a job card (TOML)".

    Raises:
        InputError: it is absent, unreadable, no regular file or larger.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise InputError(str(path), "is no regular file", "", f"Name {what}.")
            data = file.read(most + 1)
    except FileNotFoundError:
        raise InputError(str(path), "does not exist", "", f"Check the name; it should be {what}.") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(str(path), f"cannot be read ({reason})", "", "Check the path and its permissions.") from None
    if len(data) > most:
        size = max(state.st_size, most + 1)
        raise InputError(str(path), f"is too large for {what} ({size:,} bytes, at most {most:,})")
    return data


def write_whole(path: Path, data: bytes) -> None:
    """Write a result: it is there as a whole, or what was there before stays. Raises OSError.

    A pipe or a device, and a file in a folder where nothing may be made, are written to as they are.
    """
    target = Path(os.path.realpath(path))
    known = target.exists()
    if known and not (target.is_file() and os.access(target.parent, os.W_OK)):
        path.write_bytes(data)
        return
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        if known:
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
