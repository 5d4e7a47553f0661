// Package ds has the file that names every colour, size and font of the console, for pages
// that a program writes itself.
package ds

import _ "embed"

// Tokens is the file.
//
//go:embed tokens.css
var Tokens []byte
