"""Print, on one line, the Debian packages that Qt needs and this machine lacks; print nothing when all are there.

Run with the interpreter of the environment that Rankscope is installed in. Qt itself is not started.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

from viewer.app.display import ALL_PACKAGES, PACKAGES

FONT_PACKAGE = "fonts-dejavu-core"
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")
PARTS = (
    "lib/libQt6Gui.so.6",
    "lib/libQt6Widgets.so.6",
    "plugins/platforms/libqxcb.so",
    "plugins/platforms/libqoffscreen.so",
)
NOT_FOUND = re.compile(r"^\s*(lib[\w.+-]+?\.so)\S* => not found", re.MULTILINE)


def missing_packages(qt: Path) -> list[str]:
    """Packages with the libraries that the dynamic linker does not find for Qt in folder ``qt``."""
    found: set[str] = set()
    for part in PARTS:
        report = subprocess.run(["ldd", str(qt / part)], capture_output=True, text=True, check=False)
        found |= set(NOT_FOUND.findall(report.stdout))
    found = {name for name in found if not name.startswith("libQt6")}
    packages = {PACKAGES.get(name, "") for name in found}
    if "" in packages:  # a library that we have no name for: ask for everything
        packages |= set(ALL_PACKAGES.split())
    return sorted(packages - {""})


def has_fonts(folders: tuple[str, ...] = FONT_FOLDERS) -> bool:
    """Whether there is any outline font: Qt brings none, and would draw boxes."""
    for folder in folders:
        for _, _, names in os.walk(os.path.expanduser(folder)):
            if any(name.lower().endswith((".ttf", ".otf", ".ttc", ".pfb")) for name in names):
                return True
    return False


def main() -> int:
    """Print the packages."""
    if not sys.platform.startswith("linux"):
        return 0
    spec = importlib.util.find_spec("PySide6")
    if spec is None or not spec.submodule_search_locations:
        sys.stderr.write("PySide6 is not installed in this environment\n")
        return 1
    packages = missing_packages(Path(next(iter(spec.submodule_search_locations))) / "Qt")
    if not has_fonts():
        packages.append(FONT_PACKAGE)
    sys.stdout.write(" ".join(packages))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
