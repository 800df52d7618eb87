#!/bin/sh
# `expc` as pip installs it: starts the program in the package's folder, which has another name in each version of Python.
self=$0
[ ! -L "$self" ] || self=$(readlink -f "$self")
prefix=${self%/*}/..
for program in "$prefix"/lib*/python3*/site-packages/expc/bin/expc "$prefix"/lib*/python3*/dist-packages/expc/bin/expc "$prefix"/expc/bin/expc; do
  [ ! -x "$program" ] || exec "$program" "$@"
done
echo "error: the package of expc is not below $prefix; install it again: pip install --force-reinstall expc" >&2
exit 1
