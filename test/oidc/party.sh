#!/bin/sh
# party.sh oauth2-proxy | gitea: builds an application of tools/NAME.mod into the cache, named by
# its versions: 4 and 20 minutes of two processors the first time. A second run finds it there. The
# last line is its folder.
set -eu

name=$1
cd "$(dirname "$0")/../.."
case $name in
oauth2-proxy) package=github.com/oauth2-proxy/oauth2-proxy/v7 beside= ;;
gitea) package=code.gitea.io/gitea beside='templates options public' ;;
*) echo "party.sh: $name is not known; use oauth2-proxy or gitea" >&2 && exit 2 ;;
esac
cache=${AXLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/axle}/$name
dir=$cache/$(cat "tools/$name.mod" "tools/$name.sum" | sha256sum | cut -c1-16)
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -e "$dir/$name" ]; then
	work=$(mktemp -d "$cache/build.XXXXXX")
	trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
	CGO_ENABLED=0 go build -modfile="tools/$name.mod" -trimpath -ldflags -w -o "$work/$name" "$package" 9>&-
	for folder in $beside; do # what it reads where it runs
		cp -r "$(go list -modfile="tools/$name.mod" -m -f '{{.Dir}}' "$package")/$folder" "$work/"
	done
	mv "$work" "$dir"
	trap - EXIT
fi
echo "$dir"
