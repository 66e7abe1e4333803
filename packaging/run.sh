#!/bin/sh
# Start Rankscope; everything that it needs is set up first, where it is not there yet.
set -eu
here=$(dirname -- "$(readlink -f -- "$0")")
# shellcheck source=environment.sh
. "$here/environment.sh"
set_up ''
compile_ahead
exec "$venv/bin/rankscope" "$@"
