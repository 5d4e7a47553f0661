package hub

import (
	"net/http"
	"net/netip"
	"testing"
)

// TestAddressBehindProxies: the client is the last hop that no trusted proxy is, and nobody
// can put another one before it.
func TestAddressBehindProxies(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for name, tt := range map[string]struct {
		from  string
		lines []string
		want  string
	}{
		"a proxy":              {"10.0.0.1:1", []string{"192.0.2.1"}, "192.0.2.1"},
		"two proxies":          {"10.0.0.1:1", []string{"192.0.2.1, 10.0.0.2"}, "192.0.2.1"},
		"two lines":            {"10.0.0.1:1", []string{"198.51.100.1", "192.0.2.1,10.0.0.2"}, "192.0.2.1"},
		"the client lies":      {"10.0.0.1:1", []string{"203.0.113.9, 192.0.2.1"}, "192.0.2.1"},
		"IPv4 within IPv6":     {"10.0.0.1:1", []string{"::ffff:192.0.2.1"}, "192.0.2.1"},
		"no proxy":             {"192.0.2.7:1", []string{"203.0.113.9"}, ""},
		"no address":           {"10.0.0.1:1", []string{"192.0.2.1, unknown"}, ""},
		"an empty hop":         {"10.0.0.1:1", []string{"192.0.2.1,"}, ""},
		"only trusted proxies": {"10.0.0.1:1", []string{"10.0.0.3"}, ""},
		"nothing":              {"10.0.0.1:1", nil, ""},
	} {
		r := &http.Request{RemoteAddr: tt.from, Header: http.Header{"X-Forwarded-For": tt.lines}}
		ip, ok := clientOf(r, trusted)
		if ok != (tt.want != "") || ok && ip.String() != tt.want {
			t.Errorf("%s: %v, %v; want %q", name, ip, ok, tt.want)
		}
	}
}
