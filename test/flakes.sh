#!/usr/bin/env bash
# Looks for flakes: runs the tests that start processes COUNT times in two thirds of a
# processor, COUNT times beside LOAD busy loops, and what test/flakes.txt lists twice as
# often. Each failure counts: nothing is run once more. PACKAGES='./test/pg' limits it.
set -euo pipefail
cd "$(dirname "$0")/.."
count=${COUNT:-5} load=${LOAD:-8} niceness=${NICENESS:-0}
out=$PWD/bin/flakes group= loops=()
export GOFLAGS="${GOFLAGS:-} -trimpath -gcflags=all=-dwarf=false" CGO_ENABLED=0

# The packages whose tests link what starts processes.
packages() {
	[ -z "${PACKAGES:-}" ] || { go list $PACKAGES; return; }
	go list -test -f '{{if .ForTest}}{{.ForTest}} {{join .Deps " "}}{{end}}' ./... |
		grep -E 'axle/test/(bin|program|pg)( |$)' | cut -d' ' -f1 | sort -u
}

# The quota is of a control group, of version 2 or 1; without root, systemd makes one.
quota() {
	local root=/sys/fs/cgroup
	if [ "$(id -u)" != 0 ]; then
		systemd-run --user --scope --quiet -p CPUQuota=67% true || {
			echo "two thirds of a processor need a control group: run this as root, or with a systemd that gives users the controller cpu"
			exit 1
		}
	elif [ -f $root/cgroup.controllers ]; then
		grep -qw cpu $root/cgroup.subtree_control || echo +cpu > $root/cgroup.subtree_control
		mkdir -p $root/axle-flakes && group=$root/axle-flakes
		echo "67000 100000" > $group/cpu.max
	else
		mkdir -p $root/cpu/axle-flakes && group=$root/cpu/axle-flakes
		echo 100000 > $group/cpu.cfs_period_us
		echo 67000 > $group/cpu.cfs_quota_us
	fi
}

finish() {
	[ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2>/dev/null || true
	[ -z "$group" ] || { while read -r pid; do kill "$pid" || true; done < $group/cgroup.procs; rmdir $group 2>/dev/null || true; }
}
trap finish EXIT

# limited COMMAND...: within the quota.
limited() {
	if [ -n "$group" ]; then
		bash -c 'echo $$ > "$0/cgroup.procs" && exec "$@"' $group "$@"
	else
		systemd-run --user --scope --quiet -p CPUQuota=67% "$@"
	fi
}

# repeat HOW COUNT PACKAGE PATTERN [limited]: one line, and the output of what failed.
failures=0
repeat() {
	local how=$1 count=$2 package=$3 pattern=$4 binary log=$out/log folder
	binary=$out/$package/$(basename "$package").test # as go test names it
	folder=$(go list -f '{{.Dir}}' "$package")
	mkdir -p "$(dirname "$binary")"
	[ -x "$binary" ] || go test -c -vet=off -ldflags=-w -o "$binary" "$package"
	[ -x "$binary" ] || return 0 # it has no tests under these tags
	local began=$SECONDS
	if (cd "$folder" && ${5:-} "$binary" -test.count="$count" -test.run="$pattern" -test.timeout=6h -test.failfast=false) > "$log" 2>&1; then
		echo "ok    $package: $count times $how, $((SECONDS - began)) s"
	else
		failures=$((failures + 1))
		echo "FAIL  $package: $count times $how, $((SECONDS - began)) s"
		grep -aE -A 12 '^ *--- FAIL|^panic:' "$log" | cut -c1-400 | head -100
	fi
}

rm -rf "$out" && mkdir -p "$out"
mapfile -t all < <(packages)
[ ${#all[@]} -gt 0 ] || { echo "no package starts processes: look at packages() here"; exit 1; }
quota
for package in "${all[@]}"; do repeat "in 0.67 of a processor" "$count" "$package" . limited; done
known=$(grep -vE '^(#|$)' test/flakes.txt || true)
while read -r package name _; do
	[ -z "$package" ] || repeat "in 0.67 of a processor ($name, a known flake)" $((2 * count)) "$package" "^$name\$" limited
done <<< "$known"
# Each ends by itself after a day, whatever becomes of this script.
for ((i = 0; i < load; i++)); do
	nice -n "$niceness" timeout 1d bash -c 'while :; do :; done' &
	loops+=($!)
done
for package in "${all[@]}"; do repeat "beside a load of $load" "$count" "$package" .; done
echo "== ${#all[@]} packages, known flakes: $(grep -c . <<< "$known" || true); $failures failed"
[ $failures = 0 ]
