#!/usr/bin/env bash
# Proves that a cached test result is true, in a copy of the checkout: a panic in what a
# program is made of fails its process test, by hand and after make programs, and a run
# without a change starts no process test. `test/truecache.sh all` lets every package that
# starts programs run, and once more: then nothing may run, and within 60 s.
set -euo pipefail
cd "$(dirname "$0")/.."

export GOFLAGS="${GOFLAGS:-} -trimpath -gcflags=all=-dwarf=false" CGO_ENABLED=0
tests() { go test -vet=off -ldflags=-w -timeout 60m "$@"; } # as make test does
made() { AXLE_PROGRAMS=built tests "$@"; }
fail() { echo "truecache: $*" >&2; exit 1; }

# again fails if a second run of tests that passed runs one, or takes longer than 60 s.
again() {
	local started=$SECONDS out
	out=$(made "$@") || fail "the second run failed: $out"
	if out=$(grep '^ok' <<<"$out" | grep -v '(cached)'); then fail "the second run ran
$out"; fi
	((SECONDS - started <= 60)) || fail "the second run took $((SECONDS - started)) s"
	echo "truecache: nothing ran a second time, $((SECONDS - started)) s"
}

if [ "${1:-}" = all ]; then
	go run ./cmd/dev/programs
	mapfile -t packages < <(go list -test -f '{{if .ForTest}}{{.ForTest}} {{join .Deps " "}}{{end}}' ./... | grep ' github.com/axle-cd/axle/test/bin\b' | cut -d' ' -f1 | sort -u)
	made "${packages[@]}"
	go run ./cmd/dev/programs
	again "${packages[@]}"
	exit
fi

# A package, the program that it is in, and a test that starts it.
cases='cli                axle                    ./test/ci         TestJobs
hub                axle-hub                ./cmd/axle-hub    TestExitCodes
agent              axle-agent              ./agent/doctor    TestDoctorNamesBrokenSetups
operator           axle-operator           ./cmd/axle-operator TestCommandLine
render             axle-render             ./agent           TestRenderDirOfExamples
terraform          terraform-provider-axle ./terraform       TestMistakesAreSaidByThePlan'
if [ -n "${ONLY:-}" ]; then cases=$(grep -E "^($ONLY) " <<<"$cases"); fi

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | while IFS= read -rd '' file; do
	if [ -e "$file" ]; then printf '%s\0' "$file"; fi
done | tar -c --null -T - | tar -x -C "$copy"
for built in web/dist docs/site/public bin/test; do
	if [ -d $built ]; then rm -rf "$copy/$built" && mkdir -p "$copy/$built" && cp -a $built/. "$copy/$built"; fi
done
cd "$copy"

# every runs a command with the package and the test of each case.
every() { while read -r _ _ package test; do "$@" "$package" -run "^$test\$" </dev/null; done <<<"$cases"; }

go run ./cmd/dev/programs
every made
go run ./cmd/dev/programs
every again
while read -r folder program package test; do
	cat >"$folder/seeded.go" <<-GO
		package $(basename "$folder")

		import (
			"os"
			"path/filepath"
		)

		func init() {
			if filepath.Base(os.Args[0]) == "$program" {
				panic("seeded")
			}
		}
	GO
	if out=$(tests "$package" -run "^$test\$" </dev/null 2>&1); then fail "$package passed by hand with a panic in $folder: $out"; fi
	go run ./cmd/dev/programs >/dev/null
	if out=$(made "$package" -run "^$test\$" </dev/null 2>&1); then fail "$package passed with a panic in $folder: $out"; fi
	rm "$folder/seeded.go"
	echo "truecache: $package fails with a panic in $folder"
done <<<"$cases"
go run ./cmd/dev/programs >/dev/null
every again
