// Package web serves the console: the single-page application that `make web`
// built into dist, from files inside the binary. It has no state and needs no
// login: the pages are the product's, and everything that they show comes from
// the API, which authenticates.
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
// A binary that was built without the console answers with one page that says
// so. The hub calls it.
package web
