#!/usr/bin/env bash
# The loop while one works, for make quick: what says most in two minutes. Everything runs
# to its end, and each failure says which one command runs it. Go's cache chooses what of
# it has to run. BASE is the commit that console tests compare with.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:-} -trimpath -gcflags=all=-dwarf=false" CGO_ENABLED=0 AXLE_SUITE_RECORD=bin/quick.json
suite=bin/suite failed=()

# step NAME COMMAND...
step() {
	"$suite" "$1" -- "${@:2}" || failed+=("$1")
}

# base prints the commit at which this branch left the main line.
base() {
	local main
	for main in origin/HEAD origin/main main; do
		git merge-base HEAD "$main" 2>/dev/null && return
	done
	git rev-parse HEAD
}

"$suite" start
step gofmt make --no-print-directory gofmt
step archtest go test -vet=off -ldflags=-w ./internal/archtest
step vet go vet -tags=soak ./...
mapfile -t packages < <(go run ./cmd/dev/packages quick | grep -vx ./internal/archtest)
[ ${#packages[@]} -gt 0 ] || exit 1
step tests go test -vet=off -ldflags=-w -timeout=5m "${packages[@]}"
base=${BASE:-$(base)}
if git diff --quiet "$base" -- web && [ -z "$(git ls-files --others --exclude-standard web)" ]; then
	echo "== the console is as in ${base:0:12}"
else
	step console npm --prefix web run --silent generate
	step console npm --prefix web test -- --project logic --changed="$base"
fi
"$suite" table --short
[ ${#failed[@]} = 0 ] || { echo "== failed: ${failed[*]}; the commands are above"; exit 1; }
