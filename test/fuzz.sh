#!/usr/bin/env bash
# Runs every fuzz test of the tree for the given time (30s), each within 1 GiB of
# memory: what an input becomes is bounded everywhere (test/field/decoders.txt), and a
# process that takes more ends and fails. Making interesting inputs smaller is bounded:
# left alone it may take a minute for each of them, in which nothing is tried.
set -euo pipefail
if [ "${1:-}" = --limited ]; then
	shift
	ulimit -d 1048576
	exec "$@"
fi
time=${1:-30s}
count=0
while IFS=: read -r file name; do
	echo "== $name in $(dirname "$file") for $time"
	go test "./$(dirname "$file")" -exec "$PWD/test/fuzz.sh --limited" -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 2s
	count=$((count + 1))
done < <(git grep -oE 'func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's/func //')
echo "$count fuzz tests ran, none found anything"
