#!/usr/bin/env bash
# Runs every fuzz test of the tree for the given time (30s).
set -euo pipefail
time=${1:-30s}
count=0
while IFS=: read -r file name; do
	echo "== $name in $(dirname "$file") for $time"
	go test "./$(dirname "$file")" -run '^$' -fuzz "^$name\$" -fuzztime "$time"
	count=$((count + 1))
done < <(git grep -oE 'func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's/func //')
echo "$count fuzz tests ran, none found anything"
