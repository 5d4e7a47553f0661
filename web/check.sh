#!/usr/bin/env bash
# Lints and tests the console, for make test; `check.sh types` is the part that a build needs.
# What passed is in bin/console, and does not run again on the same sources. Of a style sheet
# the name alone counts: vitest gives tests a proxy in its place (css.include in
# vite.config.ts is empty), and neither oxlint nor tsc reads one. When only sheets changed,
# those tests run that read files (ADR 198).
set -euo pipefail
cd "$(dirname "$0")"
passed=$PWD/../bin/console
mkdir -p "$passed"

# Sources, with what the tests read outside of this folder. A file that is gone is in the
# sum as the complaint about it.
sources=$(git ls-files -z --cached --others --exclude-standard -- . ../api/hub/v1/*.proto ../deploy/clusters ../test/kinds/testdata ':!*.go' |
	sort -z | { xargs -0 sha256sum 2>&1 || true; })
sum() { { node --version && cat; } | sha256sum | cut -d' ' -f1; }
code=$(sed -E 's/^[0-9a-f]{64}  (.*\.css)$/\1/' <<<"$sources" | sum)
all=$(sum <<<"$sources")

# once NAME SUM COMMAND...: a command that has not passed with this sum.
once() {
	[ "$(cat "$passed/$1" 2>/dev/null)" != "$2" ] || { echo "console: $1 passed on these sources"; return; }
	rm -f "$passed/$1"
	"${@:3}"
	echo "$2" >"$passed/$1"
}

once types "$code" npx --no-install tsc --noEmit
[ "${1:-}" != types ] || exit 0
once lint "$code" npx --no-install oxlint --deny-warnings
mapfile -t readers < <(grep -rlE "node:fs|[?](raw|inline)|import\.meta\.glob" src)
others=$(printf '%s\n' "${readers[@]}" | grep -vE '\.test\.tsx?$' || true)
if [ -n "$others" ]; then # a test may read a sheet by one of these
	once tests "$all" npx --no-install vitest run
elif [ "$(cat "$passed/tests" 2>/dev/null)" = "$code" ]; then
	once sheets "$all" npx --no-install vitest run "${readers[@]}"
else
	once tests "$code" npx --no-install vitest run
	echo "$all" >"$passed/sheets"
fi
