#!/bin/sh
# Builds the stores and exporters of the tests that no package of Debian has into the cache:
# VictoriaLogs and kube-state-metrics, each a nested module of its own. A second run, or one
# that waited for the first, finds them there and ends at once. The package test/stores looks
# for them under the same name.
#
#   build.sh                     both
#   build.sh FOLDER PACKAGE      one
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -eq 0 ]; then
	"$0" victorialogs github.com/VictoriaMetrics/VictoriaLogs/app/victoria-logs
	exec "$0" statemetrics k8s.io/kube-state-metrics/v2
fi
. "$here/../kube/compile.sh"

begin "$1" "$here/$1" "$1"
total=$(go list -deps "$2" | wc -l)
echo "$name: building $2 ($total packages, $jobs at a time, about 2 minutes on two processors)"
compile "$total" env CGO_ENABLED=0 go build -v -trimpath -ldflags '-s -w' -p "$jobs" -o "$work/$name" "$2"
finish
