#!/usr/bin/env bash
# Makes the record of a commit anew: what its hub and its agent write and say, recorded by
# the test of this tree. For a release that was cut without one, as before there were any;
# a release records itself (docs/checklists/cut-a-release.md).
#
#   test/skew/record.sh COMMIT MINOR
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C ../.. archive "$1" | tar -x -C "$work"
rm -rf "$work/test/skew"
mkdir -p "$work/test/skew/testdata"
cp ./*.go "$work/test/skew"
touch "$work/test/skew/testdata/released"
(cd "$work" && go test ./test/skew -count=1 -run TestTodayIsRecorded -update)
rm -rf "testdata/$2"
mv "$work"/test/skew/testdata/[0-9]* "testdata/$2"
grep -q "^$2 " testdata/released || echo "$2 $(git rev-parse "$1")" >>testdata/released
echo "testdata/$2 is what $1 wrote"
