package helm

import (
	"bytes"
	"regexp"
)

var (
	// glued is a document marker with the document right behind it: a template
	// trimmed the line end between them. Helm takes it for a marker.
	glued = regexp.MustCompile(`(?m)^---([^\s-])`)
	// keeps is the head of a block of text that keeps all line ends behind it.
	keeps = regexp.MustCompile(`(?m)[|>][1-9]?\+[1-9]?[ \t]*$`)
	// marker is where Helm splits.
	marker = regexp.MustCompile(`(?m)^---`)
)

// documents puts a rendered text the way Helm hands it on: each document has
// markers on lines of their own and ends with one line end more than the
// template wrote.
func documents(text []byte) []byte {
	text = glued.ReplaceAll(text, []byte("---\n$1"))
	if keeps.Match(text) {
		text = marker.ReplaceAll(text, []byte("\n---"))
	}
	return append(bytes.Clone(text), '\n')
}
