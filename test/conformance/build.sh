#!/bin/sh
# Builds Kubernetes' end-to-end suite (e2e/) and the program that its pods run
# (agnhost) into the cache, named by the content of the sources, and says how
# far it is. A second run, or one that waited for the first, finds them there
# and ends at once. The package test/conformance computes the same name.
set -eu

src=$(cd "$(dirname "$0")/e2e" && pwd)
cache=${AXLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/axle}/conformance
cd "$src"
key=$(LC_ALL=C; export LC_ALL; cat go.mod go.sum *.go | sha256sum | cut -c1-16)
dir=$cache/$key

if [ -e "$dir/e2e.test" ]; then
	echo "conformance: the suite is ready in $dir"
	exit 0
fi

mkdir -p "$cache"
exec 9>"$cache/lock"
if ! flock -n 9; then
	echo "conformance: another build holds $cache/lock, waiting for it"
	flock 9
fi
if [ -e "$dir/e2e.test" ]; then
	echo "conformance: the suite is ready in $dir"
	exit 0
fi

# Each compiler takes up to 1 GB and the linker 2.5 GB: as many at a time as
# there are processors, but no more than memory allows.
jobs=$(nproc)
memory=$(awk '/^MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
[ "$jobs" -le "$memory" ] || jobs=$memory
[ "$jobs" -ge 1 ] || jobs=1

work=$(mktemp -d "$cache/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

echo "conformance: fetching modules"
total=$(go list -deps -test . k8s.io/kubernetes/test/images/agnhost | wc -l)
echo "conformance: building the suite ($total packages, $jobs at a time, about 10 minutes on two processors)"

version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
stamp=k8s.io/component-base/version
flags="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} -X $stamp.gitTreeState=clean"

began=$(date +%s)
{
	# vet would read all of it once more
	go test -c -vet=off -v -trimpath -ldflags "$flags" -p "$jobs" -o "$work/e2e.test" . &&
		CGO_ENABLED=0 go build -v -trimpath -ldflags "-s -w" -p "$jobs" -o "$work/agnhost" k8s.io/kubernetes/test/images/agnhost
} >"$work/log" 2>&1 9>&- &
build=$!
trap 'kill $build 2>/dev/null; exit 130' INT TERM
while kill -0 "$build" 2>/dev/null; do
	sleep 2
	now=$(($(date +%s) - began))
	[ $((now / 10)) -ne "${last:-0}" ] || continue
	last=$((now / 10))
	count=$(grep -c '^[^ ]*$' "$work/log" || true)
	note=
	if [ "$count" = "${before:-}" ]; then
		note=", linking or at a large one" # packages in the build cache are not counted
	fi
	before=$count
	echo "conformance: ${now}s, compiled $count of $total packages$note"
done
if ! wait "$build"; then
	grep -v '^[^ ]*$' "$work/log" >&2 || true
	echo "conformance: the build failed, see above" >&2
	exit 1
fi

rm "$work/log"
mv "$work" "$dir"
trap - EXIT
echo "conformance: the suite is ready in $dir after $(($(date +%s) - began))s"
