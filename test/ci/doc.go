// Package ci runs the jobs of examples/ci: the commands of each file in a shell, with the
// built axle, against a real hub that trusts the tokens of a real issuer.
//
// The CI systems themselves are played: their variables, and the address where a job of
// GitHub gets its token. The install script of the job is a stand-in that copies the
// built program; cmd/release tests the real one.
package ci
