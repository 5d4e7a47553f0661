// Package web holds the console that `make web` built into dist, for the programs that
// serve it. Only a program that imports it changes with it.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Console returns the files of the console, which are none without a build.
func Console() fs.FS {
	// A folder that is embedded is there.
	files, _ := fs.Sub(dist, "dist")
	return files
}
