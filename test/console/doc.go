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
// Axe looks at each page and each overlay in the dark, by all its rules. In light and in
// forced colours it looks at the gallery, in a build of the console that has one, and at one
// of each kind of overlay: pages use only components that the gallery shows
// (web/src/gallery/gallery.test.ts), and colours that can be told apart in the dark can be
// in light (web/src/ds/tokens.test.ts).
//
// `make deps` installs Chromium, `make web` builds the console and installs Node's
// packages. `make soak` plays the profile huge at its own size, 10,000 clusters and
// 100,000 services, and takes the pictures.
//
// It also tests what the hub does for its console, from outside: operations on many
// services, and the enrollment of clusters.
package console
