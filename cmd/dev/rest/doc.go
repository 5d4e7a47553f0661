// Command rest finds the assertions of process tests that may come too early: a test
// changes something in one system, the hub or a cluster, and asserts something that it read
// in the other one, or in the first after it waited for the other.
//
//	go run ./cmd/dev/rest ./test/operator ./test/world
//
// A change takes a way: from a custom resource to the hub and back into the resource's
// status, or from Git and the hub to a cluster and back as a report. What is at the end of
// the way shows that the rest has happened. So after a change of a system W, an assertion
// on what was read once is accepted
//
//   - in W, when nothing was waited for since: W answers with what it was given;
//   - in any system, once a condition on W was waited for, or on the system at the end of
//     the way (a cluster with the operator, else the hub): by internal/eventually, "axle
//     services wait" or "kubectl wait". Not if a condition on another system was waited
//     for first and W is a cluster: an object's condition may be that of before;
//   - after a commit, also in the system on which a condition was waited for;
//   - in any system, once the test waited for rest: a function named rest or AtRest.
//
// A comment "//rest: reason" at an assertion allows it, "#rest: reason" above one in a
// script. One that allows nothing is an error, so that the list only has what is needed.
//
// Functions of the package are followed with their arguments, closures too. Loops are
// followed once, branches one after the other; what is called through an interface or a
// field is not. Scripts (testdata/*.txtar) are read line by line. Only the last change
// counts: a test that prepares both systems may then assert what it likes.
package main
