// Package web holds the console that `make web` built into dist, for the programs that
// serve it. Only a program that imports it changes with it.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Tokens is the style sheet that names every colour, size and font of the console, for pages
// that a program writes itself.
//
//go:embed src/ds/tokens.css
var Tokens []byte

// Console returns the files of the console, which are none without a build.
func Console() fs.FS {
	// A folder that is embedded is there.
	files, _ := fs.Sub(dist, "dist")
	return files
}
