// Package gitserver is a real Git server for tests and demos: git's own
// http-backend behind plain HTTP or TLS, and git-upload-pack behind SSH.
//
// It makes repositories and commits, counts what clients asked (ref listings
// and fetches, when each began and ended, which overlapped, how many bytes),
// and can be made to fail the ways real servers do. It judges nothing: a test
// reads the log.
//
// It needs the git program. It knows nothing of the product.
package gitserver
