package manifest

import "bytes"

// document is one YAML document of a text, and the line where it starts, from 1.
type document struct {
	text []byte
	line int
}

// lead counts the lines before the first one with content.
func (d document) lead() int {
	n, rest := 0, d.text
	for len(rest) > 0 {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' {
			return n
		}
		n, rest = n+1, after
	}
	return n
}

// Documents returns the texts of the YAML documents of a text, which it does not decode.
func Documents(text []byte) (all [][]byte) {
	for _, doc := range split(text) {
		all = append(all, doc.text)
	}
	return all
}

// split splits a text at its document markers. A marker inside a block scalar also
// ends the document, as YAML requires.
func split(text []byte) []document {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var docs []document
	start, startLine, line := 0, 1, 1
	for pos := 0; pos < len(text); line++ {
		end := len(text)
		if i := bytes.IndexByte(text[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		if marks(text[pos:end]) {
			docs = append(docs, document{text[start:pos], startLine})
			// The rest of the marker's line belongs to the document.
			start, startLine = pos+3, line
		}
		pos = end
	}
	return append(docs, document{text[start:], startLine})
}

// marks reports whether a line starts or ends a document.
func marks(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	return len(line) == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r' || line[3] == '\n'
}
