#!/usr/bin/env bash
# Makes the record of a commit anew: what its hub and its agent write and say, recorded by
# the test of this tree. For a release that was cut without one, as before there were any;
# a release records itself (docs/checklists/cut-a-release.md). With --fleet it is the fleet
# of a commit that permitted what is refused today, with its Terraform state.
#
#   test/skew/record.sh COMMIT MINOR
#   test/skew/record.sh --fleet COMMIT
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
cd "$(dirname "$0")"
commit=$1 folder=$2 record=(-run TestTodayIsRecorded -update)
if [ "$1" = --fleet ]; then
  commit=$2 folder=fleet record=(-run TestAnUpgradeLeavesWhatIsDelivered -record-fleet)
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C ../.. archive "$commit" | tar -x -C "$work"
rm -rf "$work/test/skew"
mkdir -p "$work/test/skew/testdata"
cp ./*.go "$work/test/skew"
touch "$work/test/skew/testdata/released"
(cd "$work" && go test ./test/skew -count=1 "${record[@]}")
rm -rf "testdata/$folder"
mv "$work/test/skew/testdata/"[0-9f]* "testdata/$folder"
[ "$folder" = fleet ] || grep -q "^$folder " testdata/released || echo "$folder $(git rev-parse "$commit")" >>testdata/released
echo "testdata/$folder is what $commit wrote"
