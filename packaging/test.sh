#!/bin/sh
# Check Rankscope: style, types, direction of imports, tests. Arguments go to pytest.
set -eu
here=$(dirname -- "$(readlink -f -- "$0")")
# shellcheck source=environment.sh
. "$here/environment.sh"
set_up test
cd "$root"
bin=$venv/bin
status=0

check() {
    title=$1
    shift
    if output=$("$@" 2>&1 </dev/null); then
        printf '%s: fine\n' "$title"
    else
        printf '%s\n%s: FAILED\n' "$output" "$title"
        status=1
    fi
}

check 'ruff check' "$bin/ruff" check .
check 'ruff format' "$bin/ruff" format --check .
check 'mypy' "$bin/mypy"
check 'lint-imports' "$bin/lint-imports" --no-cache
"$bin/python" -m pytest -n auto --maxprocesses 4 "$@" </dev/null || status=$?
exit "$status"
