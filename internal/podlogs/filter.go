package podlogs

import (
	"regexp"

	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// MaxTail bounds how many lines are asked for of the end of a log, and MaxContext
	// those around a match.
	MaxTail    = 50_000
	MaxContext = 50
	// maxPattern bounds an expression, in bytes.
	maxPattern = 1_000
	// maxBefore bounds what waits before a match, in bytes.
	maxBefore = 256 << 10
)

// Filter says which lines are sent.
type Filter struct {
	// Match is what a line has, Exclude what it has not; nil asks for nothing.
	Match, Exclude *regexp.Regexp
	// Before and After are how many lines of the same container come with a match.
	Before, After int
}

// NewFilter compiles a filter. Errors are Invalid, and say which part is wrong.
func NewFilter(match, exclude string, before, after int) (f Filter, err error) {
	if before < 0 || before > MaxContext || after < 0 || after > MaxContext {
		return f, errcode.New(errcode.Invalid, "%d lines before and %d after a match: ask for 0 to %d", before, after, MaxContext)
	}
	f.Before, f.After = before, after
	for _, p := range []struct {
		name, text string
		to         **regexp.Regexp
	}{{"match", match, &f.Match}, {"exclude", exclude, &f.Exclude}} {
		if p.text == "" {
			continue
		}
		if len(p.text) > maxPattern {
			return f, errcode.New(errcode.Invalid, "%s has %d bytes; an expression has at most %d", p.name, len(p.text), maxPattern)
		}
		if *p.to, err = regexp.Compile(p.text); err != nil {
			return f, errcode.New(errcode.Invalid, "%s is no regular expression of RE2: %w", p.name, err)
		}
	}
	return f, nil
}

// empty reports whether the filter takes every line.
func (f Filter) empty() bool { return f.Match == nil && f.Exclude == nil }

func (f Filter) matches(text string) bool {
	return (f.Match == nil || f.Match.MatchString(text)) && (f.Exclude == nil || !f.Exclude.MatchString(text))
}

// sieve applies a filter to the lines of one container.
type sieve struct {
	Filter
	before []Line
	bytes  int
	after  int
	emit   func(Line) error
}

func (s *sieve) take(l Line) error {
	if s.empty() {
		return s.emit(l)
	}
	if s.matches(l.Text) {
		for _, b := range s.before {
			if err := s.emit(b); err != nil {
				return err
			}
		}
		s.before, s.bytes, s.after = s.before[:0], 0, s.After
		return s.emit(l)
	}
	l.Context = true
	if s.after > 0 {
		s.after--
		return s.emit(l)
	}
	if s.Before == 0 {
		return nil
	}
	s.before = append(s.before, l)
	s.bytes += l.size()
	for len(s.before) > s.Before || s.bytes > maxBefore && len(s.before) > 1 {
		s.bytes -= s.before[0].size()
		s.before = append(s.before[:0], s.before[1:]...)
	}
	return nil
}

// ring keeps the last lines of one container, by number and by bytes.
type ring struct {
	lines       []Line
	most, bytes int
	// room is how many bytes are kept; left counts what fell out.
	room int
	left int64
}

func (r *ring) take(l Line) {
	r.lines = append(r.lines, l)
	r.bytes += l.size()
	from := 0
	for len(r.lines)-from > r.most || r.bytes > r.room && len(r.lines)-from > 1 {
		r.bytes -= r.lines[from].size()
		r.left++
		from++
	}
	if from > 0 {
		// One line at a time would move all of them: the slice moves on, and append copies it
		// now and then.
		r.lines = r.lines[from:]
	}
}
