#!/bin/sh
# Builds oauth2-proxy of tools/oauth2-proxy.mod into the cache, named by its versions: 4 minutes
# of two processors the first time. A second run finds it there. The last line is its folder.
set -eu

cd "$(dirname "$0")/../.."
cache=${AXLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/axle}/oauth2-proxy
dir=$cache/$(cat tools/oauth2-proxy.mod tools/oauth2-proxy.sum | sha256sum | cut -c1-16)
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -e "$dir/oauth2-proxy" ]; then
	work=$(mktemp -d "$cache/build.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	CGO_ENABLED=0 go build -modfile=tools/oauth2-proxy.mod -trimpath -ldflags -w -o "$work/oauth2-proxy" github.com/oauth2-proxy/oauth2-proxy/v7 9>&-
	mv "$work" "$dir"
	trap - EXIT
fi
echo "$dir"
