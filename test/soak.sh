#!/usr/bin/env bash
# Everything that takes hours or root, for make soak. It runs to its end, prints the command
# for each failure, and adds the run to test/soak-record.txt (ADR 138). RUN plays one
# scenario of the delivery, and is not recorded.
set -euo pipefail
cd "$(dirname "$0")/.."
export AXLE_SUITE_RECORD=bin/soak.json
suite=bin/suite failed=()

# step NAME COMMAND...
step() {
	echo "== $1"
	"$suite" "$1" -- "${@:2}" || failed+=("$1")
}

# tests NAME FLAGS-AND-PACKAGES...: go test at full size, with the tests that are soak's
# alone (the tag), never cached.
tests() {
	local -x AXLE_SOAK=1
	step "$1" go test -vet=off -count=1 -tags=soak "${@:2}"
}

# target NAME: of the Makefile.
target() {
	step "$1" make --no-print-directory "$1"
}

finish() {
	"$suite" table --short
	[ ${#failed[@]} = 0 ] || { echo "== failed: ${failed[*]}; the commands are above"; exit 1; }
}

"$suite" start
if [ -n "${RUN:-}" ]; then
	tests world -timeout=60m "-run=TestCDN/$RUN" ./test/world
	finish
	exit
fi
target docs
target race-all
step seedrace ./test/seedrace.sh
step node-parts ./test/deps.sh node
tests node -timeout=60m ./test/node/story
tests world -timeout=60m '-run=TestCDN|TestKillAtEveryCall|TestConnectionKilledAtEachCall|TestAManagementClusterIsRestoredFromASnapshot|TestPeopleInAClusterOfProcesses|TestAProcessIsKilledInASignIn' ./test/world
tests install -timeout=60m '-run=KilledAtEachStep|TestUpLocalMakesClusters|FromThePreviousRelease|TestPreviousStoreOnThisSchema|TestKilledInstallGoesOn|TestStockHelmGivesTheSameObjects|TestReplicasServeWhilePodsGoAndVersionsChange' ./test/install
tests console -timeout=30m -run=TestBrowser/huge ./test/console
target screenshots
target capi
tests components -timeout=20m -run=TestComponentFilesAreDeliveredWhole ./test/proxy
tests templates -timeout=20m -run=TestTemplatesHoldTheContractOfWholeComponents ./test/clusters
tests apply -timeout=20m -run=TestServiceOfThousandsOfObjects ./agent/apply
tests release -timeout=90m '-run=TestRelease$|TestImagesRun|TestThePageInstallOnAMachine|TestPackagesUnderSystemd' ./cmd/release
tests terraform -timeout=60m -run=TestInitFindsTheProviderAtTheHub ./test/terraform
step signin-parts ./test/deps.sh signin
tests signin -timeout=60m '-run=TestProxiesLogPeopleIn|TestGiteaLogsPeopleIn' ./hub/oidc
step mutants ./test/mutants.sh
tests package-mutants -timeout=60m -run=TestEachMutantIsNoticed ./test/mutants
step truecache ./test/truecache.sh
step truecache-all ./test/truecache.sh all
target attack
target bench-capi
tests leases -timeout=20m -run=TestTwentyThousandRepositoriesAreOwnedWithinAMinute ./hub/store
tests watch -timeout=20m -run=TestARefreshOfAWatchMovesAtMost50kB ./cli
"$suite" soaked || failed+=(record)
finish
