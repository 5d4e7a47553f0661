#!/bin/sh
# Builds programs of Kubernetes, which are one binary of a nested module, into the
# cache, named by the content of the module, and says how far it is. A second run, or
# one that waited for the first, finds it there and ends at once. The package
# test/kube computes the same name.
#
#   build.sh                          the control plane of the test bed
#   build.sh FOLDER PROGRAM...        what FOLDER/main.go is under these names
set -eu

if [ $# -eq 0 ]; then
	set -- "$(dirname "$0")/kubedev" etcd kube-apiserver kube-controller-manager kube-scheduler kwok
fi
src=$(cd "$1" && pwd)
shift
name=${src##*/}
cache=${AXLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/axle}/$name
cd "$src"
key=$(LC_ALL=C; export LC_ALL; cat go.mod go.sum *.go | sha256sum | cut -c1-16)
dir=$cache/$key

if [ -e "$dir/$1" ]; then
	echo "$name: ready in $dir"
	exit 0
fi

mkdir -p "$cache"
exec 9>"$cache/lock"
if ! flock -n 9; then
	echo "$name: another build holds $cache/lock, waiting for it"
	flock 9
fi
if [ -e "$dir/$1" ]; then
	echo "$name: ready in $dir"
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

echo "$name: fetching modules"
total=$(go list -deps . | wc -l)
echo "$name: building $* as one binary ($total packages, $jobs at a time, about 10 minutes from nothing on two processors)"

# The version that clients ask for; charts choose by it.
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
stamp=k8s.io/component-base/version
flags="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} -X $stamp.gitTreeState=clean"

began=$(date +%s)
go build -v -trimpath -ldflags "$flags" -p "$jobs" -o "$work/$name" . 2>"$work/log" 9>&- &
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
	echo "$name: ${now}s, compiled $count of $total packages$note"
done
if ! wait "$build"; then
	grep -v '^[^ ]*$' "$work/log" >&2 || true
	echo "$name: the build failed, see above" >&2
	exit 1
fi

for program; do
	ln -s "$name" "$work/$program"
done
rm "$work/log"
mv "$work" "$dir"
trap - EXIT
echo "$name: ready in $dir after $(($(date +%s) - began))s"
