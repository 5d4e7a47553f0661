package plain

import (
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// Writer passes on printable characters, line breaks and tabs. It holds the bytes of
// an incomplete character. It is safe for concurrent use.
type Writer struct {
	To io.Writer

	mu   sync.Mutex
	part []byte
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.part, p...)
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		if !utf8.FullRune(text) {
			break
		}
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\t' || shown(r):
			out = utf8.AppendRune(out, r)
		case r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			// Text that would overwrite a line goes to the next one.
			if rest := text[n:]; r != '\r' || len(rest) == 0 || rest[0] != '\n' {
				out = append(out, '\n')
			}
		}
		text = text[n:]
	}
	w.part = append([]byte(nil), text...)
	if _, err := w.To.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// JSON writes the unprintable characters of a JSON document as escapes. The document
// stays equivalent.
func JSON(text []byte) []byte {
	if simple(string(text), 0, true) {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\t' || shown(r):
			out = append(out, text[:n]...)
		case r > 0xffff:
			high, low := 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}
