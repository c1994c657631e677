#!/usr/bin/env bash
# Measures SQL beside DuckDB on a host with many cores and no Go, such as a GPU's: all queries with
# all cores, and some with one. Beside this script lie sqlbench, built by
#
#	cd tests && CGO_CFLAGS='-O2 -w' go build -trimpath -ldflags '-s -w' -o <directory> ./sqlbench
#
# and, where Python has no duckdb and pyarrow, their wheels in wheels/. Data files go to $DATA, some
# 4 GB; the result is Markdown, for docs/measurements.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
data=${DATA:-${TMPDIR:-/tmp}/mpga-sqlbench}
threads=${THREADS:-$(nproc)}
times=${TIMES:-3}

if [ -d "$here/wheels" ]; then
	python3 -m pip install -q --no-index --no-deps --target "$data.python" "$here"/wheels/*.whl
	export PYTHONPATH=$data.python
fi
lscpu | grep -E '^Model name|^CPU\(s\)|^L2|^L3' || true
free -g | sed -n 2p

"$here/sqlbench" -dir "$data" -threads "$threads" -times "$times" -rows "${ROWS:-1e8}"
printf '\nOne thread:\n'
"$here/sqlbench" -dir "$data" -threads 1 -times 1 -rows "${ROWS:-1e8}" -run '^(plain sums|H2O: q[1356]$)'
