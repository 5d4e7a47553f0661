#!/bin/sh
# Builds the stores and exporters of the tests that no package of Debian has into the cache:
# VictoriaLogs and kube-state-metrics, each a nested module of its own. A second run, or one
# that waited for the first, finds them there and ends at once. The package test/stores looks
# for them under the same name.
#
#   build.sh                            both
#   build.sh FOLDER MODULE PACKAGE      one
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -eq 0 ]; then
	"$0" victorialogs github.com/VictoriaMetrics/VictoriaLogs app/victoria-logs
	exec "$0" statemetrics k8s.io/kube-state-metrics/v2 .
fi
. "$here/../kube/compile.sh"

begin "$1" "$here/$1" "$1"
module=$2 package=$2/$3
total=$(go list -deps "${package%/.}" | wc -l)
echo "$name: building $module ($total packages, $jobs at a time, about a minute on two processors)"
if [ "$name" = statemetrics ]; then
	# It is built with the product's version of Kubernetes, whose packages the tests compile
	# anyway. A store of that version has two methods more, which nothing of it needs.
	cp -r "$(go list -m -f '{{.Dir}}' "$module")" "$work/source"
	chmod -R u+w "$work/source"
	cat >"$work/source/pkg/metrics_store/store.go" <<-END
		package metricsstore

		func (s *MetricsStore) Bookmark(string) {}

		func (s *MetricsStore) LastStoreSyncResourceVersion() string { return "" }
	END
	cp go.mod go.sum "$work"
	go mod edit -replace "$module=$work/source" "$work/go.mod"
	set -- -modfile="$work/go.mod"
else
	set --
fi
compile "$total" env CGO_ENABLED=0 go build -toolexec "'$roomy'" "$nodwarf" "$@" -v -trimpath -ldflags '-s -w' -p "$jobs" -o "$work/$name" "${package%/.}"
rm -rf "$work/source" "$work/go.mod" "$work/go.sum"
finish
