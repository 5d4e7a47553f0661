package peer_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// watched is a body that records how much of it was read.
type watched struct {
	io.Reader
	read int
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.read += n
	return n, err
}

// catch receives a signed request instead of sending it.
type catch func(*http.Request)

func (c catch) RoundTrip(r *http.Request) (*http.Response, error) {
	c(r)
	return nil, errors.New("not sent")
}

// TestNobodysBodyIsRead holds that who calls is known before the body is read.
func TestNobodysBodyIsRead(t *testing.T) {
	key, c := []byte("key"), clock.NewManual(time.Unix(1e9, 0))
	const headHeader = "Axle-Peer-Head"
	for name, test := range map[string]struct {
		size   int
		change func(r *http.Request)
		status int
		// read is the most that may be read of the body.
		read int
	}{
		"a replica's":            {1 << 20, func(*http.Request) {}, http.StatusOK, 1 << 20},
		"without a head":         {1 << 10, func(r *http.Request) { r.Header.Del(headHeader) }, http.StatusUnauthorized, 0},
		"of nobody":              {2 << 20, func(r *http.Request) { r.Header = http.Header{} }, http.StatusUnauthorized, 0},
		"with another head":      {1 << 20, func(r *http.Request) { r.Header.Set(headHeader, strings.Repeat("00", 32)) }, http.StatusUnauthorized, 0},
		"of another address":     {1 << 20, func(r *http.Request) { r.URL.Path = "/other" }, http.StatusUnauthorized, 0},
		"late":                   {1 << 20, func(*http.Request) { c.Advance(2 * time.Minute) }, http.StatusUnauthorized, 0},
		"the head as the rest":   {0, func(r *http.Request) { asCall(r, headHeader) }, http.StatusUnauthorized, 0},
		"the rest as the head":   {0, func(r *http.Request) { asHead(r, headHeader) }, http.StatusUnauthorized, 0},
		"another body of a head": {1 << 10, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("other")) }, http.StatusUnauthorized, 1 << 10},
	} {
		var sent *http.Request
		signer := &peer.Signer{Key: key, Replica: "hub-1", Clock: c, Next: catch(func(r *http.Request) { sent = r })}
		r := httptest.NewRequest(http.MethodPost, "/peer/v1/x", strings.NewReader(strings.Repeat("a", test.size)))
		if _, err := signer.RoundTrip(r); sent == nil {
			t.Fatal(err)
		}
		sent.RequestURI = ""
		test.change(sent)
		body := &watched{Reader: sent.Body}
		sent.Body = io.NopCloser(body)
		answer := httptest.NewRecorder()
		peer.Verify(key, c, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got, err := io.ReadAll(r.Body); err != nil || len(got) != test.size || peer.Caller(r.Context()) != "hub-1" {
				t.Errorf("%s: %d bytes of %q, %v", name, len(got), peer.Caller(r.Context()), err)
			}
		})).ServeHTTP(answer, sent)
		if answer.Code != test.status || body.read > test.read {
			t.Errorf("%s: %d after %d bytes, want %d after at most %d", name, answer.Code, body.read, test.status, test.read)
		}
	}
}

// asCall uses the signature of a head as that of a call without a body, asHead
// the other way round.
func asCall(r *http.Request, head string) {
	parts := strings.Split(r.Header.Get(peer.PartHeader), " ")
	r.Header.Set(peer.PartHeader, parts[0]+" "+parts[1]+" "+r.Header.Get(head))
	r.Header.Del(head)
}

func asHead(r *http.Request, head string) {
	r.Header.Set(head, strings.Split(r.Header.Get(peer.PartHeader), " ")[2])
}

// TestEachPartOfACallIsSigned changes one part of a signed call at a time.
func TestEachPartOfACallIsSigned(t *testing.T) {
	const uri = "/stream?cluster=c1&nonce=n"
	key, now := []byte("key"), time.Unix(1e9, 0)
	type call struct {
		method, uri, header, body string
		now                       time.Time
	}
	signer := &peer.Signer{Key: key, Replica: "hub-1", Clock: clock.NewManual(now)}
	signed := call{http.MethodPost, uri, signer.Part(http.MethodPost, uri, []byte("ann")), "ann", now}
	for name, test := range map[string]struct {
		change func(c *call)
		good   bool
	}{
		"nothing":        {func(*call) {}, true},
		"half a minute":  {func(c *call) { c.now = now.Add(30 * time.Second) }, true},
		"the method":     {func(c *call) { c.method = http.MethodGet }, false},
		"the path":       {func(c *call) { c.uri = "/other?cluster=c1&nonce=n" }, false},
		"the cluster":    {func(c *call) { c.uri = "/stream?cluster=c2&nonce=n" }, false},
		"the nonce":      {func(c *call) { c.uri = "/stream?cluster=c1&nonce=m" }, false},
		"who calls":      {func(c *call) { c.header = strings.Replace(c.header, "hub-1", "hub-2", 1) }, false},
		"when":           {func(c *call) { c.header = strings.Replace(c.header, "000000 ", "000001 ", 1) }, false},
		"the body":       {func(c *call) { c.body = "admin" }, false},
		"all of it away": {func(c *call) { c.header = "" }, false},
		"too late":       {func(c *call) { c.now = now.Add(61 * time.Second) }, false},
		"too early":      {func(c *call) { c.now = now.Add(-61 * time.Second) }, false},
	} {
		c := signed
		test.change(&c)
		r := httptest.NewRequest(c.method, c.uri, nil)
		r.Header.Set(peer.PartHeader, c.header)
		replica, err := peer.VerifyPart(key, c.now, r, []byte(c.body))
		if test.good && (err != nil || replica != "hub-1") {
			t.Errorf("%s: %q, %v", name, replica, err)
		}
		if !test.good && !errcode.Is(err, errcode.Unauthorized) {
			t.Errorf("%s changed: the call of %q was taken, %v", name, replica, err)
		}
	}
}
