package hub

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestOutwardGoesThroughTheProxy of the hub's environment: login providers and destinations
// of notifications were dialed directly, where a firewall lets only the proxy pass.
func TestOutwardGoesThroughTheProxy(t *testing.T) {
	asked := ""
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.RequestURI
		w.WriteHeader(http.StatusTeapot)
	}))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		t.Setenv(name, proxy.URL)
		t.Setenv(strings.ToLower(name), "")
	}
	t.Setenv("NO_PROXY", "direct.example.test")
	h := &Hub{}
	transport, err := h.providerTransport("")
	if err != nil {
		t.Fatal(err)
	}
	for name, through := range map[string]http.RoundTripper{"login providers": transport, "all others": h.config.outward(&tls.Config{MinVersion: tls.VersionTLS12})} {
		for url, want := range map[string]string{
			"http://login.example.test/a":  "GET http://login.example.test/a",
			"https://login.example.test/a": "CONNECT login.example.test:443",
			"http://direct.example.test/a": "",
			"http://127.0.0.1:1/a":         "",
			"http://10.0.0.1/a":            "",
		} {
			asked = ""
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := through.RoundTrip(r)
			if err == nil {
				_ = answer.Body.Close()
			}
			if asked != want || strings.HasPrefix(want, "GET") && err != nil || want == "" && err == nil {
				t.Errorf("%s, %s: the proxy was asked %q, want %q; %v", name, url, asked, want, err)
			}
		}
	}
}
