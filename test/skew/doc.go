// Package skew holds what released versions wrote and said, as bytes, and tests that
// this tree still understands it:
//
//	TestOlderAgentsWorkWithThisHub   a hub of today, on the older hub's database and cache, answers the recorded requests
//	TestThisAgentWorksWithOlderHubs  an agent of today takes the recorded answers
//	TestOlderFeedsAreRead            a replica of today reads each row of the older feed
//	TestOlderCachesAreServed         tarballs are served from the older hub's tarballs, and made from its mirrors
//	TestOlderFilesAreRead            a backup is restored; an agent's specs, list and trees are read from its disk
//	TestAnUpgradeLeavesWhatIsDelivered
//	                                 a fleet of a hub that permitted what is refused today: lists, Terraform's plans, tokens, and what is at risk, which
//	                                 axle upgrade --check lists of that hub's recorded answers before
//
// testdata/MINOR is the record of version MINOR of the schema. A record of a released
// version never changes; testdata/released lists them with their commits. What is not
// released yet is recorded anew, with -update, whenever its protocol or schema changes:
// without that its test fails. Those of N-3 to N-1 are kept, and N, the tree's own;
// docs/checklists/cut-a-release.md says how a release adds its own, record.sh makes one
// of an older commit. testdata/fleet is a fleet of 44104a04, which record.sh --fleet makes
// again; it never changes either.
//
// It does not cover what flows through a tunnel after its first frame, rows of Postgres
// (the migrations are the same files), what older replicas read of newer ones (make soak
// runs both), and the inventory in a cluster (agent/apply/inventory refuses a newer
// format itself).
package skew
