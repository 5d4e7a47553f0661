#!/usr/bin/env bash
# Runs a command that writes files of the checkout again, and gives those that it left as they
# are committed their times back: Go runs a test once more when a file that it read is younger.
set -euo pipefail
times() { git ls-files -z | xargs -0 stat -c '%.9Y %n' | sort; }
changed=$(git diff --name-only)
before=$(times)
"$@"
comm -23 <(echo "$before") <(times) | while read -r time file; do
	if ! grep -qxF -- "$file" <<< "$changed" && git diff --quiet -- "$file"; then
		touch -d "@$time" -- "$file"
	fi
done
