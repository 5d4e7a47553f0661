package upstream

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
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return packet{}, err
	}
	n, err := strconv.ParseUint(string(head[:]), 16, 16)
	if err != nil {
		return packet{}, fmt.Errorf("%q is no length of a packet", head[:])
	}
	switch {
	case n == 0 || n == 2:
		return packet{flush: true}, nil
	case n == 1:
		return packet{delim: true}, nil
	case n == 3:
		return packet{}, errors.New("a packet of length 3")
	}
	buf := make([]byte, n-4)
	if _, err := io.ReadFull(r, buf); err != nil {
		return packet{}, io.ErrUnexpectedEOF
	}
	text := strings.TrimSuffix(string(buf), "\n")
	if words, ok := strings.CutPrefix(text, "ERR "); ok {
		return packet{}, &remoteError{words}
	}
	return packet{text: text}, nil
}

// remoteError is what the server said instead of an answer.
type remoteError struct{ words string }

func (e *remoteError) Error() string { return "upstream says: " + e.words }

func writePacket(b *strings.Builder, format string, args ...any) {
	line := fmt.Sprintf(format, args...) + "\n"
	fmt.Fprintf(b, "%04x%s", len(line)+4, line)
}
