// Package static serves the console and the documentation, from the files that its
// caller has: those that `make web` and `make docs` built, which cmd/axle-hub holds.
// It has no state and needs no login: the pages are the product's, and everything
// that the console shows comes from the API, which authenticates.
//
// Every path of the console is answered with index.html; the router in the
// browser shows the page. A path whose first segment another route of the hub
// owns (/axle.hub.v1.…, /login/…) and a missing file are 404, never the page,
// so that a program that mistypes a call gets an error and not a document.
//
// Files below assets/ have the hash of their content in their name and are
// cached for a year. They are served as the build compressed them (.br and .gz
// beside a file); nothing is compressed here.
//
// Without files, the console and the documentation are one page each that says so.
// The hub calls it.
package static
