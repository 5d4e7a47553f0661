// Package testrun runs the tests that come with a service. Jobs and Pods in its
// manifests that are marked as tests are not part of the sync. They run once after
// it, when the service is Healthy.
//
//	Waiting --(the service is Healthy)--> Running --> Passed
//	                                              --> Failed
//
// One run belongs to one service and one key (files and settings). Another key ends
// the run and deletes its Job. Tests run in the order of their weight, those of the
// same weight together; at most 4 services of a project run tests at once, and
// 4 tests each; other projects have places beside them. A
// failed test is repeated as often as it declares (default never, at most 10 times),
// each attempt as a new Job. It is stopped at its deadline, by default 10 minutes.
//
// The log is followed while a test runs. Its last 16 KiB, without the service's
// secret values, go to the hub every second or two with the rest of the run's state;
// nothing is sent while no test runs. Output between two marks, or the termination
// message, is parsed as JUnit.
//
// Gate says what services that depend on this one wait for. It answers from memory,
// also while the hub is unavailable. Results are stored in a file, and each Job
// carries the number of its attempt, so that a restarted agent continues a run and
// does not repeat a finished one.
//
// Callers are agent/poll, after each pass, and agent, which wires it. It writes only
// tests to the cluster, with the permit of the service.
package testrun
