package podlogs

import (
	"bytes"
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/axle-cd/axle/internal/plain"
)

const (
	// maxLine is the longest text that is shown whole, in bytes.
	maxLine = 16 << 10
	// maxStamp is longer than each time that a kubelet writes before a line.
	maxStamp = 64
)

// Stamp is how times are written: always with nanoseconds, so that they sort as texts.
const Stamp = "2006-01-02T15:04:05.000000000Z07:00"

// Line is one line of a log.
type Line struct {
	// Time is when it was written, in UTC; zero if the node did not note it.
	Time time.Time
	Source
	// Text is safe to show: plain.Text of what was written.
	Text string
	// Cut is how many bytes were cut off its end.
	Cut int64
	// Context marks a line that stands around a match.
	Context bool
}

// size is about what a line takes in memory.
func (l Line) size() int { return len(l.Text) + 128 }

// Source is one container's log.
type Source struct{ Namespace, Pod, Container string }

func (s Source) compare(t Source) int {
	return cmp.Or(strings.Compare(s.Namespace, t.Namespace), strings.Compare(s.Pod, t.Pod), strings.Compare(s.Container, t.Container))
}

// assembler makes lines of a log's pieces, which may end within a line.
type assembler struct {
	of   Source
	part []byte
	over int64
	emit func(Line) error
}

// take reads one piece.
func (a *assembler) take(piece []byte) error {
	for len(piece) > 0 {
		end := bytes.IndexByte(piece, '\n')
		if end < 0 {
			a.keep(piece)
			return nil
		}
		a.keep(piece[:end])
		if err := a.end(); err != nil {
			return err
		}
		piece = piece[end+1:]
	}
	return nil
}

func (a *assembler) keep(text []byte) {
	fits := min(len(text), maxLine+maxStamp-len(a.part))
	a.part = append(a.part, text[:fits]...)
	a.over += int64(len(text) - fits)
}

// end ends the line. A log that ends within one has it too.
func (a *assembler) end() error {
	stamp, text := stampOf(a.part)
	l := Line{Time: stamp, Source: a.of}
	l.Text, l.Cut = Shown(string(text))
	l.Cut += a.over
	a.part, a.over = a.part[:0], 0
	return a.emit(l)
}

// Shown is what is shown of a line, and how many bytes were cut off its end.
func Shown(text string) (shown string, cut int64) {
	if len(text) > maxLine {
		end := maxLine
		for end > maxLine-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		text, cut = text[:end], int64(len(text)-end)
	}
	return Clean(text), cut
}

// last ends a line that the log's end left open.
func (a *assembler) last() error {
	if len(a.part) == 0 && a.over == 0 {
		return nil
	}
	return a.end()
}

// stampOf splits the time off, which a kubelet writes with the offset of its node.
func stampOf(raw []byte) (time.Time, []byte) {
	at := bytes.IndexByte(raw[:min(len(raw), maxStamp)], ' ')
	head := raw
	if at >= 0 {
		head = raw[:at]
	}
	if len(head) < len("2006-01-02T15:04:05Z") || len(head) > maxStamp || head[4] != '-' {
		return time.Time{}, raw
	}
	stamp, err := time.Parse(time.RFC3339Nano, string(head))
	if err != nil {
		return time.Time{}, raw
	}
	if at < 0 {
		return stamp.UTC(), nil
	}
	return stamp.UTC(), raw[at+1:]
}

// Clean makes the text of one line safe to show. Of a line that overwrites itself, as a
// progress bar does, what stands at its end is left.
func Clean(text string) string {
	text = strings.TrimRight(text, "\r\n")
	if at := strings.LastIndexByte(text, '\r'); at >= 0 {
		text = text[at+1:]
	}
	text = plain.Text(text, 0)
	if strings.ContainsRune(text, '\n') {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	return text
}
