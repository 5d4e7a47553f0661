// Package rendertest holds the contract that every renderer must satisfy, tested through
// the real child process: the shipped program, its limits and its pipe.
//
// A renderer provides a Fixture; Contract does the rest. Child exchanges the frames
// directly, without the agent's runner, so that a test sees what the child itself
// does. Only tests import it.
package rendertest
