package authproxy

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/kubereq"
)

// FuzzRequests reads bytes as a connection brings them. A request that is let
// through to be authenticated carries on nothing about identity, and names a
// path that can be read in one way.
func FuzzRequests(f *testing.F) {
	const line, end = " /k8s/clusters/edge/api/v1/namespaces/a/pods", " HTTP/1.1\r\nHost: hub\r\n"
	for _, headers := range []string{
		"", "Connection: Impersonate-User\r\n", "Impersonate_User: root\r\n", "X-Remote-User: root\r\n", "Connection: Upgrade\r\nUpgrade: websocket\r\n",
		"Connection: Upgrade\r\nUpgrade: h2c\r\n", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "Cookie: a=b\r\nProxy-Authorization: c\r\n",
	} {
		f.Add("GET" + line + end + headers + "\r\n")
	}
	f.Add("GET /k8s/clusters/../x HTTP/1.1\r\nHost: hub\r\n\r\n")
	f.Add("GET /k8s/clusters/edge/%2e%2e/x HTTP/1.1\r\nHost: hub\r\n\r\n")
	f.Add("GET https://hub/k8s/clusters/edge/api HTTP/1.1\r\nHost: hub\r\n\r\n")
	f.Add("CONNECT hub:443 HTTP/1.1\r\nHost: hub\r\n\r\n")
	f.Add("GET /k8s/clusters/edge?x HTTP/1.1\r\nHost: hub\r\n\r\n")
	f.Fuzz(func(t *testing.T, raw string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
		if err != nil {
			return
		}
		r.RemoteAddr = "192.0.2.1:5"
		a, err := (&Proxy{}).read(r)
		if err != nil {
			return
		}
		for _, h := range a.head.GetHeaders() {
			if kubereq.IdentityHeader(h.GetName()) || kubereq.HopHeader(h.GetName()) {
				t.Errorf("%q goes on with %s", raw, h.GetName())
			}
		}
		uri := a.head.GetRequestUri()
		if r.URL.Path == TicketPath {
			return
		}
		if kubereq.CheckPath(uri) != nil || strings.ContainsAny(a.handle, "/?#%") && !strings.Contains(r.RequestURI, a.handle) {
			t.Errorf("%q goes on to %q of %q", raw, uri, a.handle)
		}
		if want := Prefix + a.handle; !strings.HasPrefix(r.RequestURI, want) || strings.Trim(strings.TrimPrefix(r.RequestURI, want), "/") != strings.Trim(uri, "/") {
			t.Errorf("%q goes on to %q of %q", raw, uri, a.handle)
		}
		if up := a.head.GetUpgrade(); up != "" && up != kubereq.WebSocket && up != kubereq.SPDY {
			t.Errorf("%q changes to %q", raw, up)
		}
	})
}
