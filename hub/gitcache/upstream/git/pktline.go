package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// packet is one pkt-line; flush, delimiter and end have no text.
type packet struct {
	text  string
	flush bool
	delim bool
}

func readPacket(r *bufio.Reader) (packet, error) {
	head, err := r.Peek(4)
	if err != nil {
		if len(head) > 0 {
			err = unexpected(err)
		}
		return packet{}, err
	}
	n, err := strconv.ParseUint(string(head), 16, 16)
	if err != nil {
		return packet{}, fmt.Errorf("%q is not a packet length", head)
	}
	_, _ = r.Discard(4)
	switch {
	case n == 0 || n == 2:
		return packet{flush: true}, nil
	case n == 1:
		return packet{delim: true}, nil
	case n == 3:
		return packet{}, errors.New("a packet of length 3")
	}
	text, err := readText(r, int(n-4))
	if err != nil {
		return packet{}, err
	}
	if words, ok := strings.CutPrefix(text, "ERR "); ok {
		return packet{}, &remoteError{words}
	}
	return packet{text: text}, nil
}

// readText reads a packet's text with one allocation, because lists are long.
func readText(r *bufio.Reader, n int) (string, error) {
	raw, err := r.Peek(n)
	if err != nil && n > r.Size() {
		raw = make([]byte, n)
		if _, err := io.ReadFull(r, raw); err != nil {
			return "", io.ErrUnexpectedEOF
		}
		return strings.TrimSuffix(string(raw), "\n"), nil
	}
	if err != nil {
		return "", io.ErrUnexpectedEOF
	}
	if n > 0 && raw[n-1] == '\n' {
		raw = raw[:n-1]
	}
	text := string(raw)
	_, err = r.Discard(n)
	return text, err
}

// remoteError is an error that the server sent instead of an answer.
type remoteError struct{ words string }

// Error quotes the server.
func (e *remoteError) Error() string { return "upstream reports: " + e.words }

func writePacket(b *strings.Builder, format string, args ...any) {
	line := fmt.Sprintf(format, args...) + "\n"
	fmt.Fprintf(b, "%04x%s", len(line)+4, line)
}
