package agentapi_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/jitter"
)

const (
	// floorVariable makes this test program a server that only answers 304.
	floorVariable = "AXLE_TEST_FLOOR"
	// spacedFor is how long polls run on spacedConnections kept connections,
	// one per spacedEvery and connection: a hub of 1,100 clusters gets 10 a
	// second. The pauses between them, and the cost of waking up, are what a
	// hot loop lacks.
	spacedFor         = 20 * time.Second
	spacedConnections = 200
	spacedEvery       = 4 * time.Second
)

// serveFloor answers everything with 304, over HTTP/2 and TLS with the same key
// exchange, until its input ends.
func serveFloor() int {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		w.Header().Set("Etag", r.Header.Get("If-None-Match"))
		w.WriteHeader(http.StatusNotModified)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	if _, err := os.Stdout.WriteString(s.Listener.Addr().String() + "\n"); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Close()
	return 0
}

// startFloor starts it in a separate process.
func startFloor(b *testing.B) *hubProcess {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), floorVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			b.Error(err)
		}
	})
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		b.Fatal(err)
	}
	return &hubProcess{pid: cmd.Process.Pid, addr: strings.TrimSpace(string(line[:n])), tls: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}}
}

// pollSpaced measures the hub, and then the floor, polled as agents do it.
func (h *hubProcess) pollSpaced(b *testing.B, agents []*agent, tags []string, out *idle) {
	b.Helper()
	var seconds float64
	out.SpacedMicros, out.SpacedPolls, seconds = h.spaced(b, agents, tags)
	out.SpacedPerSecond = float64(out.SpacedPolls) / seconds
	out.FloorMicros, _, _ = startFloor(b).spaced(b, agents, tags)
}

// spaced returns the CPU of one poll, without what the process uses when idle.
func (h *hubProcess) spaced(b *testing.B, agents []*agent, tags []string) (micros float64, polls int, seconds float64) {
	b.Helper()
	clients := make([]*http.Client, spacedConnections)
	for i := range clients {
		t := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			_, secure, err := h.dial("h2")
			return secure, err
		}}
		defer t.CloseIdleConnections()
		clients[i] = &http.Client{Transport: t}
		h.askOnce(b, clients[i], agents[i%len(agents)], tags[i%len(agents)])
	}
	wait := func(d time.Duration) {
		if err := jitter.Wait(b.Context(), d); err != nil {
			b.Fatal(err)
		}
	}
	wait(2 * time.Second)
	began, before := time.Now(), h.cpu(b)
	wait(5 * time.Second)
	resting := float64(h.cpu(b)-before) / float64(time.Since(began))

	began, before = time.Now(), h.cpu(b)
	var all sync.WaitGroup
	counts := make([]int, len(clients))
	for i, c := range clients {
		all.Go(func() {
			for pause := jitter.Full(spacedEvery); jitter.Wait(b.Context(), pause) == nil && time.Since(began) < spacedFor; pause = jitter.Add(spacedEvery, spacedEvery/8) {
				if err := h.ask(b.Context(), c, agents[i%len(agents)], tags[i%len(agents)]); err != nil {
					b.Error(err)
					return
				}
				counts[i]++
			}
		})
	}
	all.Wait()
	spent, wall := h.cpu(b)-before, time.Since(began)
	for _, n := range counts {
		polls += n
	}
	return float64(spent.Microseconds())/float64(polls) - resting*float64(wall.Microseconds())/float64(polls), polls, wall.Seconds()
}
