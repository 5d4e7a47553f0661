// Package gitserver is a real Git server for tests and demos: git's own
// http-backend behind plain HTTP or TLS, and git-upload-pack behind SSH.
//
// It creates repositories and commits, counts what clients request (ref listings and
// fetches: when each began and ended, which overlapped, how many bytes), and can fail
// in the ways real servers do. It makes no assertions: a test reads the log.
//
// It needs the git program. It knows nothing of the product.
package gitserver
