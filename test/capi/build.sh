#!/bin/sh
# Builds the core manager of Cluster API into the cache, and beside it components.yaml:
# what it needs on a management cluster, of the same version. A second run, or one that
# waited for the first, finds them there and ends at once. The package test/capi looks for
# them under the same name.
set -eu
. "$(dirname "$0")/../kube/compile.sh"

core=sigs.k8s.io/cluster-api
begin capidev "$(dirname "$0")/capidev" manager
stamp $core $core/version
total=$(go list -deps $core/core | wc -l)
echo "$name: building the core manager of Cluster API ($total packages, $jobs at a time, half a minute on two processors after the control plane, else 2 minutes)"
source=$(go list -m -f '{{.Dir}}' $core)
CGO_ENABLED=0 go run -toolexec "'$roomy'" "$nodwarf" -trimpath . "$source/core/config/default" >"$work/components.yaml"

# Its webhooks listen on all addresses of the machine, and no flag says otherwise: it is
# built from a copy whose webhooks listen on the loopback.
cp -r "$source" "$work/source"
chmod -R u+w "$work/source"
sed -i 's/^\t*Port: *webhookPort,$/Host: "127.0.0.1", &/' "$work/source/core/main.go"
grep -q '^Host: "127.0.0.1"' "$work/source/core/main.go" || { echo "$name: the address of the webhooks is no longer where it was in core/main.go" >&2; exit 1; }
cp go.mod go.sum "$work"
go mod edit -replace $core="$work/source" "$work/go.mod"

compile "$total" env CGO_ENABLED=0 go build -toolexec "'$roomy'" "$nodwarf" -modfile="$work/go.mod" -v -trimpath -ldflags "$flags" -p "$jobs" -o "$work/manager" $core/core
rm -r "$work/source" "$work/go.mod" "$work/go.sum"
finish
