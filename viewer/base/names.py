"""Names of kernels, operators and functions, shortened to what tells."""

from __future__ import annotations

import re
from typing import Final

_GENERIC: Final = ("kernel", "kernel2", "device_kernel", "kernel_entry")
_PYTHON: Final = re.compile(r"(?:.*/)?([^/]+\(\d+\)): (\S.*)", re.DOTALL)
"""A Python frame as profilers write it: "torch/nn/modules/module.py(1518): _call_impl"."""
_BUILT_IN: Final = re.compile(r"<built-in (?:method|function) (\w+)[ >]")


def short_name(name: str) -> str:
    """The telling part of a name.

    Of C++ without return type, namespaces, template arguments and parameters; of a Python frame the function before its
    file. NCCL's kernels lose their common prefix. Other names stay as they are.
    """
    frame = _PYTHON.fullmatch(name)
    if frame is not None:
        return f"{frame[2]} · {frame[1]}"
    built_in = _BUILT_IN.match(name)
    if built_in is not None:
        return built_in[1]
    text = (
        name.replace("(anonymous namespace)::", "")
        .removeprefix("void ")
        .removeprefix("ncclDevKernel_")
        .removeprefix("ncclKernel_")
    )
    if "::" not in text and "<" not in text and "(" not in text:
        return text
    head = text
    for stop in ("<", "("):
        at = head.find(stop)
        if at > 0:
            head = head[:at]
    tail = head.rsplit("::", 1)[-1].strip()
    if tail.lower() in _GENERIC and text[len(head) :].startswith("<"):
        return text[len(head) + 1 :]  # cutlass::Kernel<what it is>(...)
    return tail if len(tail) > 1 and " " not in tail else text
