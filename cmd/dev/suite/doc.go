// Command suite runs the steps of the test suite: make test and .ci/run call it, once
// for each step. It never ships.
//
//	suite start                 begins a record in bin/suite.json
//	suite STEP -- COMMAND ...   runs a step and adds what it took to the record
//	suite table [--short]       prints the record
//	suite calibrate             measures the machine, for the record, unless all results were cached
//	suite budgets               prints what in the record is above test/budgets.txt
//	suite soaked                adds the record's run to test/soak-record.txt (ADR 138)
//	suite due                   prints why a soak run is due, and fails when it must not wait
//	suite keep FOLDER           keeps API servers for a step; the step starts it
//
// A step that is a go test prints the lines that people know. A test that failed is run
// once more, without others beside it. If it passes then, it is reported as FLAKY, and the
// step fails unless test/flakes.txt has its name (ADR 124). Each failure comes with the one
// command that runs it, and with the lines of its output that have the reason.
//
// The test binaries of a step use API servers one after the other, which a process of the
// step keeps for them (ADR 148).
//
// AXLE_SUITE_RECORD names another file for the record: make quick keeps that of make test.
package main
