#!/usr/bin/env bash
# Builds the console into web/dist, unless its sources are those of the last build.
set -euo pipefail
cd "$(dirname "$0")"
if [ ! -f package.json ]; then
	echo "web: there are no sources of the console yet"
	exit 0
fi
if ! command -v npm >/dev/null; then
	echo "web: there is no npm, so the hub is built without its console; install Node 20 and run make web" >&2
	[ -n "${AXLE_WEB_REQUIRED:-}" ] && exit 1
	exit 0
fi
now=$(git ls-files -z --cached --others --exclude-standard -- . ../api/hub/v1/*.proto ':!*.go' ':!test' ':!*.test.ts' ':!*.test.tsx' | sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
if [ -f dist/index.html ] && [ "$(cat dist/.sources 2>/dev/null)" = "$now" ]; then
	exit 0
fi
# npm writes this file last, after all packages (the Makefile asks it too).
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	npm ci --no-audit --no-fund
fi
npm run generate
./check.sh types
npm run bundle
touch dist/.keep
echo "$now" > dist/.sources
