package hub_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
)

// openCalls need no identity: their bodies come from unauthenticated callers.
var openCalls = []string{
	"/axle.hub.v1.Sessions/Setup", "/axle.hub.v1.Federation/Exchange", "/axle.hub.v1.Logins/Trade", "/axle.hub.v1.Logins/StartDevice", "/axle.hub.v1.Logins/PollDevice",
	"/axle.agent.v1.AgentService/Register", "/axle.agent.v1.AgentService/Renew",
}

// begin sends the head of a request with a body of some bytes, and no byte of
// it.
func begin(t *testing.T, h *hubtest.Hub, path string, length int, more ...string) net.Conn {
	t.Helper()
	u, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	var dialer net.Dialer
	c, err := dialer.DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", path, length, strings.Join(more, ""))
	if _, err := io.WriteString(c, head); err != nil {
		t.Fatal(err)
	}
	return c
}

// An unauthenticated caller is refused before a byte of the body is read: for
// every call of people, agents and replicas except those that create an
// identity.
func TestNobodysBodyIsRead(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	open := map[string]bool{}
	for _, path := range openCalls {
		open[path] = true
	}
	for route := range routesOf(t, h) {
		path := long(route)
		if strings.Contains(route, "/") != strings.HasPrefix(path, "/axle.") || strings.HasPrefix(route, "/") || strings.Contains(route, " /") || open[path] {
			continue
		}
		for _, bearer := range []string{"", "Authorization: Bearer axle_pat_nobody\r\n"} {
			c := begin(t, h, path, 8<<20, bearer)
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Errorf("%s waits for the body of nobody: %v", path, err)
				return
			}
			if answer.StatusCode != http.StatusUnauthorized && answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s: %s", path, answer.Status)
			}
			_ = c.Close()
		}
	}
}

// TestAHundredStrangersTakeLittleMemory: 100 strangers who send 8 MiB each to
// people's calls took 1.9 GiB.
func TestAHundredStrangersTakeLittleMemory(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	const strangers, most = 100, 64 << 20
	before := heap()
	body := bytes.Repeat([]byte(" "), 8<<20-1)
	var all sync.WaitGroup
	for i := range strangers {
		path := "/axle.hub.v1.Projects/Create"
		if i%2 == 0 {
			path = openCalls[i/2%len(openCalls)]
		}
		c := begin(t, h, path, 8<<20)
		all.Go(func() {
			_, _ = c.Write(body) // the last byte never comes
		})
	}
	worst := int64(0)
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
		if now := heap(); now > before {
			worst = max(worst, now-before)
		}
	}
	if worst > most {
		t.Errorf("%d strangers take %d MiB, at most %d are wanted", strangers, worst>>20, most>>20)
	}
}

// An open call accepts 64 KiB, compressed or not.
func TestOpenCallsTakeSmallBodies(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	large := []byte(`{"x": "` + strings.Repeat("a", 1<<20) + `"}`)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(large); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	post := func(path, encoding string, body []byte) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if encoding != "" {
			r.Header.Set("Content-Encoding", encoding)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err.Error() // cut off while it sends
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}
	for _, path := range openCalls {
		for encoding, body := range map[string][]byte{"": large, "gzip": packed.Bytes()} {
			if status, text := post(path, encoding, body); status == http.StatusOK || !strings.Contains(text, "64 KiB") && status != http.StatusRequestEntityTooLarge && status != 0 {
				t.Errorf("%s takes 1 MiB %q: %d %s", path, encoding, status, text)
			}
		}
		if status, text := post(path, "", []byte(`{}`)); strings.Contains(text, "64 KiB") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// Bodies of unauthenticated callers have few slots and little time: a crowd
// that sends nothing does not keep others from logging in for long.
func TestStrangersBodiesHaveAnEnd(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	var slow []net.Conn
	full := false
	for range 1000 {
		c := begin(t, h, openCalls[0], 1000)
		slow = append(slow, c)
		if len(slow)%50 == 0 {
			if full = !served(t.Context(), h); full {
				break
			}
		}
	}
	if !full {
		t.Fatal("a thousand bodies of nobody are waited for at once")
	}
	// Who is known is not touched by it.
	if err := whoAmI(t, http.DefaultClient, h); err != nil {
		t.Error(err)
	}
	eventually.For(t, limit, "the places are free again", func() error {
		if !served(t.Context(), h) {
			return errors.New("a stranger is still refused")
		}
		return nil
	})
	for _, c := range slow {
		_ = c.Close()
	}
}

// served reports whether an unauthenticated call is answered by its handler.
func served(ctx context.Context, h *hubtest.Hub) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+"/axle.hub.v1.Logins/StartDevice", strings.NewReader(`{"client": "x"}`))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode != http.StatusTooManyRequests
}
