// Package testrun runs the tests that come with a service: Jobs and Pods of its
// manifests that are marked as tests are no part of the sync, and run once
// after it, when the service is Healthy.
//
//	Waiting --(the service is Healthy)--> Running --> Passed
//	                                              --> Failed
//
// One run belongs to one service and one key (files and settings); another key
// ends it, and its Job is deleted. Tests run in the order of their weight,
// those of one weight together; at most 4 services run tests at once, and 4
// tests of each. A test that fails is repeated as often as it says (never, at
// most 10 times), each attempt as a new Job. It is stopped at its deadline, 10
// minutes if it names none.
//
// While a test runs its log is followed. The end of it, 16 KiB without the
// service's secret values, goes to the hub every second or two with everything
// else that is known of the run; nothing is sent while no test runs. What a test
// prints between two marks, or leaves as its termination message, is read as
// JUnit.
//
// Gate says what services that depend on this one wait for. It is answered from
// memory, also while the hub is away. Results lie in a file, and each Job names
// the attempt that it is, so that a restarted agent goes on with a run and does
// not repeat one that has ended.
//
// Callers are agent/poll, after each pass, and agent, which wires it. It writes
// to the cluster nothing but tests, as the permit of the service says.
package testrun
