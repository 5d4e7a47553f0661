#!/usr/bin/env bash
# Runs every fuzz test of the tree for the given time (30s). Making interesting
# inputs smaller is bounded: left alone it may take a minute for each of them,
# in which nothing is tried.
set -euo pipefail
time=${1:-30s}
count=0
while IFS=: read -r file name; do
	echo "== $name in $(dirname "$file") for $time"
	go test "./$(dirname "$file")" -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 2s
	count=$((count + 1))
done < <(git grep -oE 'func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's/func //')
echo "$count fuzz tests ran, none found anything"
