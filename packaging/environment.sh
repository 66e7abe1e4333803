# shellcheck shell=sh disable=SC2154  # $here is set by the script that sources this
# Sourced by run.sh and test.sh, with $here = this folder: makes the environment that Rankscope runs in, and checks what
# Qt needs of the system. set_up [EXTRA] leaves the environment's folder in $venv. POSIX sh; needs no terminal.

root=$(dirname -- "$here")
venv=${RANKSCOPE_VENV:-$root/.venv}

say() { printf 'rankscope: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# install PACKAGE... with Debian's installer if we may, else say how and stop.
install() {
    if ! command -v apt-get >/dev/null 2>&1; then
        die "missing on this system: $* (these are the names of Debian's packages). Install them and start again."
    fi
    if [ "$(id -u)" -ne 0 ]; then
        die "missing on this system. Run this and start again: sudo apt-get install $*"
    fi
    say "installing $*"
    install_log=$(mktemp) || exit 1
    if ! { DEBIAN_FRONTEND=noninteractive apt-get update &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } \
        </dev/null >"$install_log" 2>&1; then
        tail -n 20 "$install_log" >&2
        rm -f "$install_log"
        die "apt-get install $* failed (above)."
    fi
    rm -f "$install_log"
}

# The first of the usual names that is Python 3.11 or newer.
find_python() {
    for candidate in ${RANKSCOPE_PYTHON:+"$RANKSCOPE_PYTHON"} python3 python3.13 python3.12 python3.11 python3.14; do
        python=$(command -v "$candidate" 2>/dev/null) || continue
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then return; fi
    done
    die "Python 3.11 or newer was not found. Install it, or name it: RANKSCOPE_PYTHON=/path/to/python3"
}

works() {
    "$venv/bin/python" -c 'import sys, pip; sys.exit(sys.prefix == sys.base_prefix or sys.version_info < (3, 11))' \
        >/dev/null 2>&1 || return 1
    # Its scripts name their folder: of no use once that was moved.
    [ ! -e "$venv/rankscope.stamp" ] || [ "$(head -n 1 "$venv/rankscope.stamp")" = "$root" ]
}

make_venv() {
    if [ -e "$venv" ]; then
        [ -f "$venv/pyvenv.cfg" ] || [ -z "$(ls -A "$venv")" ] ||
            die "$venv is in the way and is no Python environment. Move it, or set RANKSCOPE_VENV to another folder."
        rm -rf "$venv"
    fi
    find_python
    if ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        install "python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
    fi
    "$python" -m venv "$venv" || die "$venv cannot be made (above)."
}

# What the installed environment depends on.
stamp() { printf '%s\n%s\n' "$root" "$(cksum <"$root/pyproject.toml")"; }

set_up() {
    extra=${1:-}
    works || make_venv
    wanted=$(stamp)
    if [ "$(head -n 2 "$venv/rankscope.stamp" 2>/dev/null)" != "$wanted" ] ||
        { [ -n "$extra" ] && ! grep -qx "$extra" "$venv/rankscope.stamp"; }; then
        say "installing the packages that it needs (once, some minutes at most) into $venv"
        rm -f "$venv/rankscope.stamp"
        PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_INPUT=1 PYTHONWARNINGS=ignore \
            "$venv/bin/python" -m pip install --quiet --editable "$root${extra:+[$extra]}" </dev/null ||
            die "the packages could not be installed (above)."
        printf '%s\n%s\n' "$wanted" "$extra" >"$venv/rankscope.stamp"
    fi
    missing=$("$venv/bin/python" "$root/packaging/missing_libraries.py") || die "the check of Qt's libraries failed (above)."
    if [ -n "$missing" ]; then
        # shellcheck disable=SC2086  # a list of package names
        install $missing
        missing=$("$venv/bin/python" "$root/packaging/missing_libraries.py")
        [ -z "$missing" ] || die "still missing after the installation: $missing"
    fi
}

# The loops are compiled once, here rather than while a user waits for the first lanes, on all cores. What fails here is
# compiled in the window's background as well.
compile_ahead() {
    loops=$(cat "$root"/viewer/jit/*.py | cksum)
    [ "$(cat "$venv/rankscope.compiled" 2>/dev/null)" != "$loops" ] || return 0
    say "compiling the engine (once, half a minute)"
    (cd "$root" && exec "$venv/bin/python" -m viewer.app.warm_up) </dev/null >/dev/null 2>&1 || true
    printf '%s\n' "$loops" >"$venv/rankscope.compiled"
}
