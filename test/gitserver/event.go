package gitserver

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Kind is the kind of a client's request.
type Kind string

// The kinds of requests. Connect is the first request of each HTTP client, which only
// lists the server's capabilities.
const (
	Connect Kind = "connect"
	LsRefs  Kind = "ls-refs"
	Fetch   Kind = "fetch"
	Push    Kind = "push"
	Refused Kind = "refused" // without the right credentials
)

// Event is one request of a client.
type Event struct {
	Repo   string
	Kind   Kind
	Start  time.Time
	End    time.Time // zero while it runs
	Bytes  int64     // sent to the client
	Status int       // of the HTTP answer; 0 over SSH or when cut
	// Prefixes are the ref prefixes of an ls-refs.
	Prefixes []string
	// Wants are the objects of a fetch.
	Wants []string
	// Haves is how many objects the client of a fetch said it has; a clone has
	// none.
	Haves int
	// Peer is the client's end of the connection. All requests of one git process
	// come from one peer.
	Peer string
}

func (s *Server) begin(repo string, kind Kind, body []byte) *Event {
	e := &Event{Repo: repo, Kind: kind, Start: time.Now()}
	e.Prefixes = lines(body, "ref-prefix ")
	e.Wants, e.Haves = lines(body, "want "), len(lines(body, "have "))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	return e
}

// from records who sent a request.
func (s *Server) from(e *Event, peer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Peer = peer
}

func (s *Server) end(e *Event, n int64, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.End, e.Bytes, e.Status = time.Now(), n, status
}

// note changes an event that others may read.
func (s *Server) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Log returns all requests for a repository so far, in order of their start.
// An empty name means every repository.
func (s *Server) Log(repo string) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Event
	for _, e := range s.events {
		if repo == "" || e.Repo == repo {
			out = append(out, *e)
		}
	}
	return out
}

// Count returns how many requests of a kind a repository saw.
func (s *Server) Count(repo string, kind Kind) int {
	n := 0
	for _, e := range s.Log(repo) {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// Forget empties the log.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = nil
}

// CheckSpacing returns an error when two requests of one of the kinds for a
// repository overlapped, or began less than gap apart.
func (s *Server) CheckSpacing(repo string, gap time.Duration, kinds ...Kind) error {
	return CheckSpacing(s.Log(repo), gap, kinds...)
}

// CheckSpacing is the judgement of Server.CheckSpacing over any log.
func CheckSpacing(log []Event, gap time.Duration, kinds ...Kind) error {
	var last *Event
	for i := range log {
		e := &log[i]
		if !slices.Contains(kinds, e.Kind) {
			continue
		}
		if last != nil {
			if last.End.IsZero() || e.Start.Before(last.End) {
				return fmt.Errorf("%s at %s overlaps the %s that began at %s and ended at %s", e.Kind, clockTime(e.Start), last.Kind, clockTime(last.Start), clockTime(last.End))
			}
			if d := e.Start.Sub(last.Start); d < gap {
				return fmt.Errorf("%s began at %s, %v after the %s before it; want %v", e.Kind, clockTime(e.Start), d, last.Kind, gap)
			}
		}
		last = e
	}
	return nil
}

func clockTime(t time.Time) string { return t.Format("15:04:05.000") }

// lines returns what follows a prefix in the pkt-lines of a request.
func lines(body []byte, prefix string) []string {
	var out []string
	for pkt := range packets(body) {
		if rest, ok := bytes.CutPrefix(pkt, []byte(prefix)); ok {
			word, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
			out = append(out, string(word))
		}
	}
	return out
}

// command returns the command of a protocol v2 request.
func command(body []byte) Kind {
	for _, c := range lines(body, "command=") {
		return Kind(c)
	}
	// Older protocols have no commands; a request with wants is a fetch.
	return Fetch
}

// packets yields the pkt-lines of body, without flushes and delimiters.
func packets(body []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(body) >= 4 {
			var n int
			if _, err := fmt.Sscanf(string(body[:4]), "%04x", &n); err != nil {
				return
			}
			if n < 4 {
				body = body[4:]
				continue
			}
			if n > len(body) || !yield(body[4:n]) {
				return
			}
			body = body[n:]
		}
	}
}

// tap feeds what one SSH client sends to a watcher, packet by packet.
type tap struct {
	mu  sync.Mutex
	buf []byte
	see func(packet []byte)
}

func (t *tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	for len(t.buf) >= 4 {
		var n int
		if _, err := fmt.Sscanf(string(t.buf[:4]), "%04x", &n); err != nil {
			t.buf = nil
			break
		}
		n = max(n, 4)
		if n > len(t.buf) {
			break
		}
		t.see(t.buf[4:n])
		t.buf = t.buf[n:]
	}
	return len(p), nil
}
