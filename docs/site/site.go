// Package site holds the documentation that `make docs` built from the Markdown of docs/,
// for the programs that serve it. Only a program that imports it changes with it.
package site

import (
	"embed"
	"io/fs"
)

//go:embed all:public
var public embed.FS

// Pages returns the files of the site, which are none without a build.
func Pages() fs.FS {
	// A folder that is embedded is there.
	files, _ := fs.Sub(public, "public")
	return files
}
