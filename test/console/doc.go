// Package console runs the browser tests of web/test against the real hub: `go test`
// starts a stack (test/console/stack) for each profile, and Node drives a real
// Chromium. The tests are those files; this package only starts them, and fails when
// one of them fails or is skipped.
//
//	go test ./test/console -run 'TestBrowser/broken'
//	FILE=logs go test ./test/console -run TestBrowser/real   # files whose name contains logs
//
// Two profiles run at once, and the files of a profile one after the other, because they
// share its hub.
//
// `make deps` installs Chromium, `make web` builds the console and installs Node's
// packages. `make soak` plays the profile huge at its own size, 10,000 clusters and
// 100,000 services, and takes the pictures.
//
// It also tests what the hub does for its console, from outside: operations on many
// services, and the enrollment of clusters.
package console
