#!/bin/sh
# Builds OpenTofu of tools/opentofu.mod into the cache, named by its versions: 4 minutes of
# two processors the first time. A second run finds it there. The last line says where.
set -eu

cd "$(dirname "$0")/../.."
cache=${AXLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/axle}/opentofu
dir=$cache/$(cat tools/opentofu.mod tools/opentofu.sum | sha256sum | cut -c1-16)
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -e "$dir/tofu" ]; then
	echo "opentofu: building, about 4 minutes on two processors"
	work=$(mktemp -d "$cache/build.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	CGO_ENABLED=0 go build -modfile=tools/opentofu.mod -trimpath -ldflags '-s -w -X github.com/opentofu/opentofu/version.dev=no' \
		-o "$work/tofu" github.com/opentofu/opentofu/cmd/tofu 9>&-
	mv "$work" "$dir"
	trap - EXIT
fi
echo "opentofu: ready in $dir"
