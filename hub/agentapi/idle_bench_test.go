package agentapi_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
)

// idle is what BenchmarkIdlePoll measures; it is printed as JSON.
type idle struct {
	PollsPerCoreSecond float64 `json:"pollsPerCoreSecond"`
	MicrosPerPoll      float64 `json:"hubCPUMicrosPerPoll"`
	// Bytes are counted below TLS, per poll on a kept connection.
	HTTP1Up      float64 `json:"http1BytesUp"`
	HTTP1Down    float64 `json:"http1BytesDown"`
	HTTP2Up      float64 `json:"http2BytesUp"`
	HTTP2Down    float64 `json:"http2BytesDown"`
	FreshUp      float64 `json:"freshTLSBytesUp"`
	FreshDown    float64 `json:"freshTLSBytesDown"`
	FreshMicros  float64 `json:"freshTLSHubCPUMicros"`
	Clusters     int     `json:"clusters"`
	Services     int     `json:"services"`
	HubRSSBytes  int64   `json:"hubRSSBytes"`
	PollsCounted int     `json:"polls"`
	// As agents poll, compared with a server that only answers 304.
	SpacedMicros    float64 `json:"spacedHubCPUMicros"`
	FloorMicros     float64 `json:"floorCPUMicros"`
	SpacedPerSecond float64 `json:"spacedPerSecond"`
	SpacedPolls     int     `json:"spacedPolls"`
}

// BenchmarkIdlePoll polls a hub process over TLS for a list that did not
// change. It measures only the hub's CPU, not the caller's.
func BenchmarkIdlePoll(b *testing.B) {
	bed := newBed(b)
	agents := make([]*agent, 20)
	for i := range agents {
		name := fmt.Sprintf("edge-%d", i)
		agents[i] = bed.register(name)
		for s := range 10 {
			bed.declare(name, fmt.Sprintf("web-%d", s), "web")
		}
	}
	tags := make([]string, len(agents))
	for i, a := range agents {
		a.produced(10)
		_, tags[i] = a.poll()
	}
	if err := bed.Stop(); err != nil {
		b.Fatal(err)
	}
	hub := startProcess(b, bed.DataDir)
	result := idle{Clusters: len(agents), Services: 10 * len(agents)}
	for b.Loop() {
		hub.pollKept(b, agents, tags, &result)
	}
	hub.pollHTTP2(b, agents[0], tags[0], &result)
	hub.pollFresh(b, agents[0], tags[0], &result)
	hub.pollSpaced(b, agents, tags, &result)
	result.HubRSSBytes = hub.rss(b)
	b.ReportMetric(result.PollsPerCoreSecond, "polls/core-s")
	b.ReportMetric(result.HTTP1Up, "B-up/poll")
	b.ReportMetric(result.HTTP1Down, "B-down/poll")
	text, err := json.Marshal(result)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%s", text)
}

// hubProcess is an axle-hub with its own authority.
type hubProcess struct {
	pid  int
	addr string
	tls  *tls.Config
}

func startProcess(b *testing.B, dir string) *hubProcess {
	b.Helper()
	path, err := bin.Path(b.Context(), "axle-hub", bin.Options{})
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), path, "serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--dev-ca", "--allow-http-upstreams", "--allow-upstream-cidrs", "127.0.0.0/8", "--log-level", "warn")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()); err != nil {
			b.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	origin := strings.TrimSuffix(strings.Fields(line)[3], ";")
	pem, err := os.ReadFile(dir + "/ca.pem")
	if err != nil {
		b.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	h := &hubProcess{pid: cmd.Process.Pid, addr: strings.TrimPrefix(origin, "https://"), tls: &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS13}}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: h.tls}}
	if err := eventually.Wait(b.Context(), limit, func() error {
		resp, err := client.Get(origin + "/readyz")
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		return errors.Join(err, resp.Body.Close())
	}); err != nil {
		b.Fatal(err)
	}
	return h
}

// cpu is the process' user and system time so far.
func (h *hubProcess) cpu(b *testing.B) time.Duration {
	b.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", h.pid))
	if err != nil {
		b.Fatal(err)
	}
	var total time.Duration
	for _, task := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", h.pid, task.Name()))
		if err != nil {
			continue // the thread ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		total += time.Duration(ns)
	}
	return total
}

func (h *hubProcess) rss(b *testing.B) int64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", h.pid))
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// counted counts the bytes of a connection, TLS records and all.
type counted struct {
	net.Conn
	up, down atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.down.Add(int64(n))
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.up.Add(int64(n))
	return n, err
}

// dial opens a TLS connection whose bytes are counted.
func (h *hubProcess) dial(protocols ...string) (*counted, *tls.Conn, error) {
	raw, err := net.Dial("tcp", h.addr)
	if err != nil {
		return nil, nil, err
	}
	c := &counted{Conn: raw}
	config := h.tls.Clone()
	config.NextProtos = protocols
	secure := tls.Client(c, config)
	return c, secure, secure.Handshake()
}

// pollKept polls over one kept HTTP/1.1 connection per cluster, four at a
// time.
func (h *hubProcess) pollKept(b *testing.B, agents []*agent, tags []string, out *idle) {
	b.Helper()
	const each = 2_000
	var wg sync.WaitGroup
	var up, down atomic.Int64
	slots := make(chan bool, 4)
	failures := make(chan error, len(agents))
	begin := h.cpu(b)
	for i, a := range agents {
		wg.Go(func() {
			slots <- true
			defer func() { <-slots }()
			u, d, err := h.pollRaw(a, tags[i], each)
			if err != nil {
				failures <- err
			}
			up.Add(u)
			down.Add(d)
		})
	}
	wg.Wait()
	select {
	case err := <-failures:
		b.Fatal(err)
	default:
	}
	spent := h.cpu(b) - begin
	polls := each * len(agents)
	out.PollsCounted = polls
	out.MicrosPerPoll = float64(spent.Microseconds()) / float64(polls)
	out.PollsPerCoreSecond = float64(polls) / spent.Seconds()
	out.HTTP1Up, out.HTTP1Down = float64(up.Load())/float64(polls), float64(down.Load())/float64(polls)
}

func (h *hubProcess) pollRaw(a *agent, etag string, polls int) (up, down int64, err error) {
	raw, secure, err := h.dial("http/1.1")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, secure.Close()) }()
	request := []byte("GET /agent/v1/desired HTTP/1.1\r\nHost: " + h.addr + "\r\nAuthorization: Bearer " + a.token +
		"\r\nIf-None-Match: " + etag + "\r\nAxle-Seen: 0660c1f62f6a8d-a88f.1\r\n\r\n")
	reader := bufio.NewReader(secure)
	var startUp, startDown int64
	for i := range polls + 1 {
		if i == 1 { // the first also carried the session tickets
			startUp, startDown = raw.up.Load(), raw.down.Load()
		}
		if _, err := secure.Write(request); err != nil {
			return 0, 0, err
		}
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return 0, 0, err
		}
		if !bytes.Contains(line, []byte("304")) {
			return 0, 0, fmt.Errorf("answer %q", line)
		}
		for len(bytes.TrimSpace(line)) > 0 {
			if line, err = reader.ReadSlice('\n'); err != nil {
				return 0, 0, err
			}
		}
	}
	return raw.up.Load() - startUp, raw.down.Load() - startDown, nil
}

// pollHTTP2 polls as Go's own client does.
func (h *hubProcess) pollHTTP2(b *testing.B, a *agent, etag string, out *idle) {
	b.Helper()
	const polls, warm = 200, 20
	var conn *counted
	transport := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
		c, secure, err := h.dial("h2")
		conn = c
		return secure, err
	}}
	client := &http.Client{Transport: transport}
	var up, down int64
	for i := range polls + warm {
		if i == warm {
			up, down = conn.up.Load(), conn.down.Load()
		}
		h.askOnce(b, client, a, etag)
	}
	out.HTTP2Up, out.HTTP2Down = float64(conn.up.Load()-up)/polls, float64(conn.down.Load()-down)/polls
	transport.CloseIdleConnections()
}

// pollFresh pays a handshake for each poll.
func (h *hubProcess) pollFresh(b *testing.B, a *agent, etag string, out *idle) {
	b.Helper()
	const polls = 200
	var up, down int64
	begin := h.cpu(b)
	for range polls {
		var conn *counted
		transport := &http.Transport{DisableKeepAlives: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			c, secure, err := h.dial("http/1.1")
			conn = c
			return secure, err
		}}
		h.askOnce(b, &http.Client{Transport: transport}, a, etag)
		transport.CloseIdleConnections()
		up += conn.up.Load()
		down += conn.down.Load()
	}
	out.FreshMicros = float64((h.cpu(b) - begin).Microseconds()) / polls
	out.FreshUp, out.FreshDown = float64(up)/polls, float64(down)/polls
}

func (h *hubProcess) askOnce(b *testing.B, client *http.Client, a *agent, etag string) {
	b.Helper()
	if err := h.ask(b.Context(), client, a, etag); err != nil {
		b.Fatal(err)
	}
}

func (h *hubProcess) ask(ctx context.Context, client *http.Client, a *agent, etag string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+h.addr+"/agent/v1/desired", nil)
	if err != nil {
		return err
	}
	req.Header = http.Header{"Authorization": {"Bearer " + a.token}, "If-None-Match": {etag}, "Axle-Seen": {"0660c1f62f6a8d-a88f.1"}, "User-Agent": nil}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusNotModified {
		err = errors.Join(err, fmt.Errorf("status %d", resp.StatusCode))
	}
	return errors.Join(err, resp.Body.Close())
}
