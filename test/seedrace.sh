#!/usr/bin/env bash
# Plants a data race in a package of each list of internal/archtest/race.txt, in a worktree of
# its own, and fails unless make test would find it: the package runs under the race detector
# although the record names HEAD, and its test fails there and passes without the detector.
#   test/seedrace.sh [LIGHT HEAVY]
set -euo pipefail
cd "$(dirname "$0")/.."
# What both runs of make test compile with.
eval "unwatched=($(sed -n 's/^UNWATCHED := //p' Makefile))"
plain=(env GOFLAGS="${GOFLAGS:-} -trimpath -gcflags=all=-dwarf=false" CGO_ENABLED=0)

tree=$(mktemp -d)
trap "cd '$PWD' && git worktree remove --force '$tree'" EXIT
git worktree add --quiet --detach "$tree"
cd "$tree"
git rev-parse HEAD >test/race-passed.txt

fail() {
	echo "$*" >&2
	exit 1
}

seed() { # TIER FOLDER
	grep -qx "$1 $2" internal/archtest/race.txt || fail "internal/archtest/race.txt has no line \"$1 $2\""
	name=$(go list -f '{{.Name}}' "./$2")
	cat >"$2/seeded_test.go" <<-END
		package ${name}_test

		import "testing"

		func TestSeededRace(t *testing.T) {
			n, done := 0, make(chan bool)
			go func() {
				n++
				done <- true
			}()
			n++
			<-done
			t.Log(n)
		}
	END
	"${plain[@]}" go run ./cmd/dev/packages raced | grep -x "./$2" >/dev/null || fail "$2 would not run under the race detector"
	"${plain[@]}" go test -count=1 -vet=off -ldflags=-w -run '^TestSeededRace$' "./$2" || fail "the planted test of $2 fails without a race detector"
	out=$(CGO_ENABLED=1 go test -race -count=1 -vet=off "${unwatched[@]}" -ldflags=-w -run '^TestSeededRace$' "./$2" 2>&1) && fail "nothing found the race in $2: $out"
	grep -q 'WARNING: DATA RACE' <<<"$out" && grep -q -- '--- FAIL: TestSeededRace' <<<"$out" || fail "$2 failed by something else: $out"
	rm "$2/seeded_test.go"
	echo "$1 $2: the race was found"
}

seed light "${1:-internal/lifecycle}"
seed heavy "${2:-hub/fanout}"
