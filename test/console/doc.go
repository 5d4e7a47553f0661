// Package console tests what people do in the console, against the real hub, and
// test/console/look how it looks: `go test` starts a stack (test/console/stack) for each
// profile of web/test, and Node drives a real Chromium. The tests are those files; these
// packages only start them, and fail when one of them fails or is skipped.
//
//	go test ./test/console/look -run 'TestLook/broken'
//	FILE=logs go test ./test/console -run TestBrowser/real   # files whose name contains logs
//
// The results here hold also when a style sheet changes that is on a page which
// test/console/look looks at (ADR 198).
//
// Two profiles run at once, and the files of a profile one after the other, because they
// share its hub, a Node and a Chromium (web/test/all.mjs).
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
