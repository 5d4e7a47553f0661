package peer_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

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
