# What scripts that build programs of Kubernetes share: the folder of a build, named by
# the content of its sources, one build at a time on the machine, and how far it is.
# Sourced by test/kube/build.sh, test/conformance/build.sh and test/capi/build.sh.

# begin NAME FOLDER PROGRAM ends the script if the module in FOLDER is built into the
# cache already. If not, it is alone from then on and leaves in
#   $dir    where the finished build belongs
#   $work   a folder to build into
#   $jobs   how many compilers may run
#   $roomy    for go's -toolexec
#   $nodwarf  the flag with which the tests are compiled, so that they share packages
begin() {
	name=$1
	cache=${AXLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/axle}/$name
	roomy=$(cd "$(dirname "$0")/.." && pwd)/roomy.sh
	nodwarf=-gcflags=all=-dwarf=false
	cd "$2"
	dir=$cache/$(LC_ALL=C; export LC_ALL; cat go.mod go.sum *.go | sha256sum | cut -c1-16)
	! ready "$3" || exit 0
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	if ! flock -n 9; then
		echo "$name: another build holds $cache/lock, waiting for it"
		flock 9
	fi
	! ready "$3" || exit 0

	# Each compiler takes up to 1.5 GB and the linker 2.5 GB: as many at a time as
	# there are processors, but no more than memory allows.
	jobs=$(nproc)
	memory=$(awk '/^MemAvailable/ {print int($2 / 1572864)}' /proc/meminfo)
	[ "$jobs" -le "$memory" ] || jobs=$memory
	[ "$jobs" -ge 1 ] || jobs=1

	work=$(mktemp -d "$cache/build.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM
	echo "$name: fetching modules"
}

# stamp MODULE PACKAGE puts what links programs of a module into $flags: with its version,
# which its variables in the package have. Clients ask for it, and charts choose by it.
stamp() {
	version=$(go list -m -f '{{.Version}}' "$1")
	minor=${version#v1.}
	flags="-s -w -X $2.gitVersion=$version -X $2.gitMajor=1 -X $2.gitMinor=${minor%%.*} -X $2.gitTreeState=clean"
}

ready() {
	[ -e "$dir/$1" ] && echo "$name: ready in $dir"
}

# compile TOTAL COMMAND... runs a build whose output names each package that it compiled,
# TOTAL of them, and says every 10 s how far it is. A failure ends the script.
compile() {
	total=$1
	shift
	began=$(date +%s)
	"$@" >"$work/log" 2>&1 9>&- &
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
	rm "$work/log"
}

# finish puts the build in its place.
finish() {
	mv "$work" "$dir"
	trap - EXIT
	echo "$name: ready in $dir after $(($(date +%s) - began))s"
}
