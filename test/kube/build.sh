#!/bin/sh
# Builds programs of Kubernetes, which are one binary of a nested module, into the
# cache, named by the content of the module, and says how far it is. A second run, or
# one that waited for the first, finds it there and ends at once. The package
# test/kube computes the same name.
#
#   build.sh                          the control plane of the test bed
#   build.sh FOLDER PROGRAM...        what FOLDER/main.go is under these names
set -eu
. "$(dirname "$0")/compile.sh"

if [ $# -eq 0 ]; then
	# As the builds of Cluster API and the stores, whose packages are partly the same.
	export CGO_ENABLED=0
	set -- "$(dirname "$0")/kubedev" etcd kube-apiserver kube-controller-manager kube-scheduler kwok
fi
src=$(cd "$1" && pwd)
shift
begin "${src##*/}" "$src" "$1"
stamp k8s.io/kubernetes k8s.io/component-base/version
total=$(go list -deps . | wc -l)
echo "$name: building $* as one binary ($total packages, $jobs at a time, about 5 minutes from nothing on two processors)"
compile "$total" go build -toolexec "'$roomy'" "$nodwarf" -v -trimpath -ldflags "$flags" -p "$jobs" -o "$work/$name" .
for program; do
	ln -s "$name" "$work/$program"
done
finish
