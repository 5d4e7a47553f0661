// Package signin logs a person in with a browser, on this machine or on another one: to a hub
// for axle login, and to an OpenID provider for kubectl.
//
// Loopback takes the browser's answer. Party is a relying party of an OpenID provider without
// a secret: it keeps what it got in a file, so that each kubectl does not ask again. Which
// provider and which client it is called with; it knows no hub and no cluster. cli/login and
// cli/clusters call it.
//
// Invariants: a browser has 10 minutes to answer, on a port of the loopback interface; only
// an answer with the state of this login counts, and the code in it is useless without a
// verifier that never leaves the process. Only the owner can read the file of tokens, and one
// process at a time logs in or refreshes for it: a refresh token works once.
package signin
