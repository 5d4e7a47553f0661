#!/usr/bin/env bash
# Proves that a test which was removed is missed by nobody: breaks the product as the
# removed test would have noticed, in a worktree of its own, and fails unless each test that
# stayed notices. test/mutants has a patch for each, which begins with
#
#   Removed: the test, and what of it the mutant is about
#   Test: PACKAGE -run PATTERN         one line for each test that must fail
#
#   test/mutants.sh [NAME...]
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS="${GOFLAGS:-} -trimpath -gcflags=all=-dwarf=false" CGO_ENABLED=0
patches=$PWD/test/mutants root=$PWD

tree=$(mktemp -d)
trap "cd '$root' && git worktree remove --force '$tree'" EXIT
git worktree add --quiet --detach "$tree"
for built in web/dist docs/site/public; do
	[ ! -d $built ] || cp -a $built/. "$tree/$built"
done
cd "$tree"

fail() {
	echo "mutants: $*" >&2
	exit 1
}

names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(cd "$patches" && ls | sed -n 's/\.patch$//p')
[ ${#names[@]} -gt 0 ] || fail "there is no patch in $patches"
for name in "${names[@]}"; do
	patch=$patches/$name.patch
	mapfile -t tests < <(sed -n 's/^Test: //p' "$patch")
	[ ${#tests[@]} -gt 0 ] || fail "$name names no test"
	git apply "$patch" || fail "$name does not apply: make it anew for the code of today"
	for test in "${tests[@]}"; do
		read -ra words <<<"$test"
		if out=$(go test -vet=off -ldflags=-w -count=1 -timeout=60m "${words[@]}" 2>&1); then
			fail "$name: $test passes: $out"
		fi
		# Not what does not compile, and not a time that is over.
		grep -q -- '--- FAIL: ' <<<"$out" || fail "$name: $test fails by something else: $out"
		echo "$name: $test notices"
	done
	git apply -R "$patch"
done
