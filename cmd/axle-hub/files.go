//go:build !nopages

package main

import (
	"io/fs"

	"github.com/axle-cd/axle/docs/site"
	"github.com/axle-cd/axle/web"
)

// embedded returns the files of the console and of the documentation. Tests build most of
// their hubs with the tag nopages, so that a change of a style changes none of them.
func embedded() (console, docs fs.FS) { return web.Console(), site.Pages() }
