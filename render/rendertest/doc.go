// Package rendertest holds the contract that every maker keeps, run through
// the real child process: the program that ships, its limits and its pipe.
//
// A maker brings a Fixture; Contract does the rest. Child speaks the frames
// directly, without the agent's runner, so that a test sees what the child
// itself does. Only tests import it.
package rendertest
