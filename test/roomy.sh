#!/bin/sh
# go's -toolexec: runs compilers and vet without garbage collection until they have 1.5 GB, or
# an eighth of the memory that is available, which takes an eighth of the processor time of a
# build from nothing. What they make is the same, and so is its place in Go's cache. Linkers
# gain nothing, and would take twice their memory.
case ${1##*/} in
compile | vet)
	mib=0
	[ ! -r /proc/meminfo ] || while read -r key value _; do
		[ "$key" != MemAvailable: ] || { mib=$((value / 8192)) && break; }
	done </proc/meminfo
	[ "$mib" -le 1500 ] || mib=1500
	[ "$mib" -lt 200 ] || export GOGC=off GOMEMLIMIT="${GOMEMLIMIT:-${mib}MiB}"
	;;
esac
exec "$@"
