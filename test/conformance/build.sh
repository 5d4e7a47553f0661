#!/bin/sh
# Builds Kubernetes' end-to-end suite (e2e/) and the program that its pods run
# (agnhost) into the cache, named by the content of the sources, and says how
# far it is. A second run, or one that waited for the first, finds them there
# and ends at once. The package test/conformance computes the same name.
set -eu
. "$(dirname "$0")/../kube/compile.sh"

programs() {
	# vet would read all of it once more
	go test -c -vet=off -v -trimpath -ldflags "$flags" -p "$jobs" -o "$work/e2e.test" . &&
		CGO_ENABLED=0 go build -v -trimpath -ldflags "-s -w" -p "$jobs" -o "$work/agnhost" k8s.io/kubernetes/test/images/agnhost
}

begin conformance "$(dirname "$0")/e2e" e2e.test
stamp k8s.io/kubernetes k8s.io/component-base/version
total=$(go list -deps -test . k8s.io/kubernetes/test/images/agnhost | wc -l)
echo "conformance: building the suite ($total packages, $jobs at a time, about 10 minutes on two processors)"
compile "$total" programs
finish
