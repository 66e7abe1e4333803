"""The command ``rankscope``. Heavy libraries are imported by the command that needs them, never here.

Exit status: 0 fine, 1 a check failed, 2 the input or the call is wrong, 70 a defect of ours, 130 interrupted,
141 nobody reads the output any more.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

from viewer import __version__
from viewer.app.console import complain, leave, prepare_streams, silence_stdout
from viewer.app.options import JobOptions, RenderOptions
from viewer.base.errors import Cancelled, RankscopeError, UsageError

SWITCH_SECONDS: Final = 0.001
"""A thread waits so long for Python code of others, a fifth of what is usual: whoever computes comes back from compiled
code all the time, and the window's thread gives way at each call of Qt; every time they wait again."""
OK: Final = 0
WRONG_INPUT: Final = 2
DEFECT: Final = 70
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

EPILOG: Final = """\
commands:
  rankscope [PATH...]            open the window
  rankscope analyze PATH...      figures and findings as a summary, a JSON or an HTML report
  rankscope render PATH... -o F  an annotated picture (png, svg, pdf), no window needed
  rankscope compare BASE TEST    what changed from one run to another
  rankscope pack PATH... -o F    the job in one file that opens without its sources
  rankscope check ...            judge a run against those before it, for CI (exit status 0, 1 or 2)
  rankscope watch PATH...        slow drift over hours or weeks, in logs or recorded runs
  rankscope cache [list|clear]   what is kept of traces that were opened
  rankscope demo                 make a demo job and open it

'rankscope COMMAND --help' explains one. A file named like a command is opened as ./analyze.
"""


class Parser(argparse.ArgumentParser):
    """argparse whose complaints are one line on stderr."""

    def error(self, message: str) -> NoReturn:
        """Raise what :func:`main` turns into exit status 2."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status; no exception leaves this function."""
    prepare_streams()
    sys.setswitchinterval(SWITCH_SECONDS)
    words = _joined(sys.argv[1:] if argv is None else argv)
    try:
        status = _run(words)
        sys.stdout.flush()
    except (KeyboardInterrupt, Cancelled):
        return INTERRUPTED
    except BrokenPipeError:
        silence_stdout()
        return BROKEN_PIPE
    except RankscopeError as error:
        complain(str(error))
        return WRONG_INPUT
    except OSError as error:
        return _refused(error)
    except Exception as error:
        return _defect(error)
    if argv is None and "viewer.app.gui" in sys.modules:
        leave(status)
    return status


def _joined(words: Sequence[str]) -> list[str]:
    """The words, each time that begins with a minus as one word with its option: argparse takes it for an option."""
    out: list[str] = []
    for word in words:
        if out and out[-1] in ("--window", "--note") and word[:1] == "-" and word[1:2].isdigit():
            out[-1] += f"={word}"
        else:
            out.append(word)
    return out


def _run(words: list[str]) -> int:
    command = COMMANDS.get(words[0]) if words else None
    try:
        return command(words[1:]) if command is not None else _open(words)
    except SystemExit as stop:  # argparse after --help and --version; what it wrote is still to be flushed
        return stop.code if isinstance(stop.code, int) else OK


def _refused(error: OSError) -> int:
    """What the operating system refused, as one sentence: a full disk behind stdout, a name that is too long."""
    if os.environ.get("RANKSCOPE_DEBUG") == "1":
        return _defect(error)
    silence_stdout()
    what = str(error.filename)[:200] if error.filename else "the output"
    reason = error.strerror or type(error).__name__
    complain(f"{what}: the system refused to read or write it ({reason}). Check the path, and the room on the disk.")
    return WRONG_INPUT


def _defect(error: Exception) -> int:
    """One sentence for the user, the stack for the log."""
    if os.environ.get("RANKSCOPE_DEBUG") == "1":
        import traceback

        traceback.print_exc()
        return DEFECT
    import logging

    from viewer.app.logs import start_logging

    path = start_logging()
    logging.getLogger(__name__).critical("unexpected error", exc_info=error)
    where = f"The details are in {path}." if path else "Set RANKSCOPE_DEBUG=1 to see the details."
    text = str(error)[:200] or "no message"
    complain(f"this is a defect of Rankscope, not of your file: {type(error).__name__}: {text}. {where}")
    return DEFECT


def _open(words: list[str]) -> int:
    parser = Parser(
        prog="rankscope",
        description="See the profiler traces of every rank of a GPU job side by side on one clock.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", metavar="PATH", nargs="*", help="trace files, archives, packs, folders, or a session")
    parser.add_argument("--version", action="version", version=f"rankscope {__version__}")
    _job_options(parser)
    options = parser.parse_intermixed_args(words)
    paths = _paths(options.paths)
    if paths and not any(os.path.lexists(p) or any(q.is_file() for q in p.parents) for p in paths):
        for path in paths:
            complain(_missing(path))
        return WRONG_INPUT
    from viewer.app.launch import open_window

    return open_window(paths, job_options(options))


def _paths(words: list[str]) -> list[Path]:
    """Paths as given. Raises UsageError for an empty word (an unset variable): it would mean the current folder."""
    if "" in words:
        raise UsageError('one of the paths is empty ("").')
    return [Path(word) for word in words]


def _missing(path: Path) -> str:
    import difflib

    from viewer.base.errors import InputError

    near = difflib.get_close_matches(str(path), list(COMMANDS), n=1, cutoff=0.6)
    step = f"Did you mean the command 'rankscope {near[0]}'?" if near else "Check the name, or drop the folder instead."
    return InputError(str(path), "does not exist", next_step=step).sentence()


def _analyze(words: list[str]) -> int:
    parser = Parser(
        prog="rankscope analyze",
        description="Where the time went and what to change: a short summary, or the report as JSON or HTML.",
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="trace files, archives, packs, folders, or a session")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON; - for stdout")
    parser.add_argument("--html", metavar="FILE", help="write the report as one self-contained page; - for stdout")
    parser.add_argument("--window", metavar="A:B", help="only this range after the first GPU start, as in 12.5ms:30ms")
    _job_options(parser)
    options = parser.parse_intermixed_args(words)
    from viewer.app.analyze import analyze

    if options.json == options.html == "-":
        raise UsageError("--json and --html cannot both go to stdout: name a file for one of them")
    window = _window(options.window)
    return analyze(_paths(options.paths), job_options(options), options.json, window, options.html)


def _render(words: list[str]) -> int:
    parser = Parser(prog="rankscope render", description="Paint an annotated picture of a job; needs no display.")
    parser.add_argument("paths", metavar="PATH", nargs="+", help="trace files, archives, packs, folders, or a session")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="out.png, out.svg or out.pdf")
    parser.add_argument("--window", metavar="A:B", help="only this range after the first GPU start, as in 12.5ms:30ms")
    parser.add_argument("--size", metavar="WxH", default="1600x900", help="logical pixels (default 1600x900)")
    parser.add_argument("--scale", metavar="N", type=int, default=1, choices=(1, 2, 4), help="1, 2 or 4 (png only)")
    parser.add_argument("--theme", metavar="NAME", default="light", help="light or dark (default light)")
    parser.add_argument("--title", metavar="TEXT", help="the title line (default: the job's name)")
    parser.add_argument("--note", metavar="T:TEXT", action="append", default=[], help='a callout, as in "12.5ms:late"')
    parser.add_argument("--select", metavar="NAME", help="mark the longest slice of that name")
    _job_options(parser)
    options = parser.parse_intermixed_args(words)
    from viewer.app.render_command import render_command

    wanted = RenderOptions(
        output=Path(options.output),
        window=_window(options.window),
        size=_size(options.size),
        scale=options.scale,
        theme=options.theme,
        title=options.title,
        notes=tuple(options.note),
        select=options.select,
    )
    return render_command(_paths(options.paths), job_options(options), wanted)


def _compare(words: list[str]) -> int:
    parser = Parser(
        prog="rankscope compare",
        description="What changed from one run of a load to another, and whether it is more than their own noise.",
    )
    parser.add_argument("base", metavar="BASE", help="the run that percentages are of: file, folder, pack or session")
    parser.add_argument("test", metavar="TEST", help="the other run")
    parser.add_argument("--json", metavar="FILE", help="write the comparison as JSON; - for stdout")
    parser.add_argument("--html", metavar="FILE", help="write it as one self-contained page; - for stdout")
    parser.add_argument("--picture", metavar="FILE", help="paint the causes as a waterfall: out.svg, .png or .pdf")
    parser.add_argument("--window", action="store_true", help="open both in a window, lanes on linked axes")
    _job_options(parser)
    options = parser.parse_intermixed_args(words)
    if options.json == options.html == "-":
        raise UsageError("--json and --html cannot both go to stdout: name a file for one of them")
    base, test = _paths([options.base, options.test])
    if options.window:
        from viewer.app.launch import open_window

        return open_window([base], job_options(options), beside=[test])
    from viewer.app.compare_command import compare_command

    picture = Path(options.picture) if options.picture else None
    return compare_command(base, test, job_options(options), options.json, picture, options.html)


def _pack(words: list[str]) -> int:
    parser = Parser(
        prog="rankscope pack",
        description="Write the tables of a job into one file that opens anywhere without its sources.",
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="trace files, archives, or folders that hold them")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="job.rankpack")
    _job_options(parser)
    options = parser.parse_intermixed_args(words)
    from viewer.app.pack_command import pack

    return pack(_paths(options.paths), job_options(options), Path(options.output))


def _check(words: list[str]) -> int:
    from viewer.app.gate import check_command

    parser = Parser(
        prog="rankscope check",
        description="Judge a run against those before it and keep its figures: a regression gate for CI.",
        epilog=check_command.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check_command.add_arguments(parser)
    _job_options(parser)
    options = parser.parse_intermixed_args(words)
    return check_command.run_check(options, job_options(options))


def _watch(words: list[str]) -> int:
    from viewer.app.gate import watch_command

    parser = Parser(
        prog="rankscope watch",
        description="Find slow drift over hours or weeks, in logs or in the runs of a baseline store.",
        epilog=watch_command.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    watch_command.add_arguments(parser)
    return watch_command.run_watch(parser.parse_intermixed_args(words))


def _cache(words: list[str]) -> int:
    parser = Parser(prog="rankscope cache", description="What is kept of traces that were opened, and how to drop it.")
    parser.add_argument("action", nargs="?", choices=("list", "clear"), default="list", help="(default: list)")
    options = parser.parse_args(words)
    from viewer.app.cache_command import clear_cache, list_cache

    return list_cache() if options.action == "list" else clear_cache()


def _demo(words: list[str]) -> int:
    parser = Parser(
        prog="rankscope demo",
        description="Make a demo job of 8 ranks with known truth and open it. Where there is no display, write its "
        "annotated picture and its report instead.",
    )
    parser.add_argument("--out", metavar="DIR", help="write the picture and the report there, open no window")
    options = parser.parse_args(words)
    from viewer.app.demo.command import demo

    return demo(Path(options.out) if options.out else None)


COMMANDS: Final[dict[str, Callable[[list[str]], int]]] = {
    "analyze": _analyze,
    "render": _render,
    "compare": _compare,
    "pack": _pack,
    "check": _check,
    "watch": _watch,
    "cache": _cache,
    "demo": _demo,
}


def _job_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how the files make a job")
    group.add_argument(
        "--align",
        metavar="auto|base|none|FILE",
        default="auto",
        help="clocks: aligned by the collectives (auto, default), base times only, none, or as a report's clock says",
    )
    group.add_argument(
        "--rank", metavar="FILE=N", action="append", default=[], help="the rank of a file; may be repeated"
    )
    group.add_argument(
        "--job", metavar="CARD", help="a job card (TOML): model, parallel plan, run and hardware, which no trace tells"
    )
    group.add_argument("--rules", metavar="FILE", help="a TOML file with class rules that go before the shipped ones")


def job_options(options: argparse.Namespace) -> JobOptions:
    """The job options of parsed words. Raises UsageError or InputError: a --rank, or the job card, makes no sense."""
    ranks: dict[str, int] = {}
    for text in options.rank:
        name, sign, number = text.rpartition("=")
        if not sign or not name or not number.isascii() or not number.isdecimal() or len(number) > 9:
            raise UsageError(f"--rank {text!r} is no FILE=N: write for example --rank trace.json=3.")
        ranks[name] = int(number)
    rules = Path(options.rules) if options.rules else None
    if options.job is None:
        return JobOptions(ranks, options.align, rules)
    from viewer.store.card_file import read_card

    return JobOptions(ranks, options.align, rules, card=read_card(Path(options.job)))


def _window(text: str | None) -> tuple[int, int] | None:
    from viewer.base.time import parse_window

    return None if text is None else parse_window(text)


def _size(text: str) -> tuple[int, int]:
    width, cross, height = text.lower().partition("x")
    if not (cross and width.isdecimal() and height.isdecimal() and len(width) <= 5 and len(height) <= 5):
        raise UsageError(f"--size {text!r} is no size: write WIDTHxHEIGHT, for example 1600x900.")
    size = int(width), int(height)
    if not (320 <= size[0] <= 16_384 and 200 <= size[1] <= 16_384):
        raise UsageError(f"--size {text!r} is out of range: from 320x200 to 16384x16384.")
    return size


if __name__ == "__main__":
    sys.exit(main())
