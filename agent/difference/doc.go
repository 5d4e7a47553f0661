// Package difference puts what an apply would change into words that may leave
// the cluster: YAML without what the API server writes, values of Secrets as
// keyed hashes, also where other objects repeat them. agent/apply works out the
// objects, agent/poll sends them; nothing here asks the API server or decides
// what an apply does.
//
// A text is at most 32 KiB, a report 64 KiB packed; what has no place is
// counted. Hashes compare within one life of the agent and nobody can try
// values against them.
package difference
