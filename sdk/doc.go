// Package sdk is the Go client of the hub's API for people (api/hub/v1). The CLI, the
// operator and the Terraform provider are built on it, and other programs can use it
// too.
//
// A Client adds what every call needs: the token; a deadline of 30 s if the caller
// set none; the position it has seen, so that a program reads its own writes from any
// replica; retries with full jitter of calls that the hub answered with
// "unavailable"; and errors as internal/errcode codes with the hub's own message. Its
// only state is the position and one connection pool. It is safe for concurrent use.
package sdk
