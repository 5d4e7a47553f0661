package authproxy

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/kubereq"
)

// sent is the request that leaves.
type sent struct{ request *http.Request }

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.request = r
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// Identity is set at the last moment, over whatever came into the headers
// meanwhile, in whatever spelling.
func TestIdentityIsSetOverEverything(t *testing.T) {
	for name, headers := range map[string]http.Header{
		"nothing":         {},
		"another user":    {"Impersonate-User": {"root"}, "Impersonate-Group": {"system:masters"}, "Impersonate-Uid": {"0"}, "Impersonate-Extra-Scopes": {"all"}},
		"odd spellings":   {"impersonate-user": {"root"}, "IMPERSONATE_GROUP": {"system:masters"}, "Impersonate-group": {"system:masters"}},
		"a front proxy's": {"X-Remote-User": {"root"}, "x_remote_group": {"system:masters"}, "X-Remote-Extra-A": {"b"}},
		"credentials":     {"Authorization": {"Bearer x"}, "authorization": {"Basic y"}, "Cookie": {"a=b"}, "cookie2": {"c"}},
	} {
		for _, groups := range [][]string{nil, {"dev"}} {
			out := &sent{}
			request := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}, Header: headers.Clone()}
			request.Header["Accept"] = []string{"application/json"}
			response, err := asUser{"ann@example.com", groups, out}.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			want := map[string]string{"Accept": "application/json", "Impersonate-User": "ann@example.com"}
			if len(groups) > 0 {
				want["Impersonate-Group"] = "dev"
			}
			for header, values := range out.request.Header {
				if len(values) != 1 || values[0] != want[header] {
					t.Errorf("%s: left with %s: %q", name, header, values)
				}
				delete(want, header)
			}
			if len(want) > 0 {
				t.Errorf("%s: left without %v", name, want)
			}
		}
	}
	if response, err := (asUser{"", nil, &sent{}}).RoundTrip(&http.Request{Header: http.Header{}}); err == nil {
		response.Body.Close()
		t.Error("a request in nobody's name left as the agent itself")
	}
}

// A token of the API server's own does not come by the WebSocket's protocols,
// in whatever case and wherever in the list.
func TestTokensInTheProtocolsAreRefused(t *testing.T) {
	p := &Proxy{base: &url.URL{Scheme: "https", Host: "10.0.0.1"}}
	for value, ok := range map[string]bool{
		"v5.channel.k8s.io": true, "base64url.bearer.authorization.k8s.io.YWJj": false, "v5.channel.k8s.io, Base64URL.Bearer.Authorization.k8s.io.YWJj": false,
	} {
		for _, name := range []string{"Sec-WebSocket-Protocol", "sec-websocket-protocol"} {
			_, err := p.request(t.Context(), &agentv1.StreamHead{
				Method: http.MethodGet, RequestUri: "/api/v1/namespaces/a/pods/b/exec", Upgrade: kubereq.WebSocket,
				Headers: []*agentv1.StreamHeader{{Name: name, Values: []string{value}}},
			}, nil)
			if (err == nil) != ok {
				t.Errorf("%s: %s: %v", name, value, err)
			}
		}
	}
}

// FuzzHeads makes requests of heads that a hub could send. What leaves the
// agent carries nothing about identity but what asUser sets, goes to the API
// server and to the path that was judged.
func FuzzHeads(f *testing.F) {
	f.Add("GET", "/api/v1/pods?watch=1", "Impersonate-User", "root", "")
	f.Add("POST", "/api/v1/namespaces/a/pods/b/exec?command=sh", "Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.YWJj", "websocket")
	f.Add("GET", "/%2e%2e/x", "x_remote_user", "root", "h2c")
	f.Add("GET", "//169.254.169.254/x", "Connection", "Impersonate-User", "SPDY/3.1")
	f.Add("G T", "/\x00", "A\r\nB", "c\r\nd", "")
	base, err := url.Parse("https://10.0.0.1:6443/prefix/")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, uri, name, value, upgrade string) {
		p := &Proxy{base: base}
		head := &agentv1.StreamHead{
			Method: method, RequestUri: uri, Upgrade: upgrade, RequestId: "r", Identity: &agentv1.StreamIdentity{User: "ann"},
			Headers: []*agentv1.StreamHeader{{Name: name, Values: []string{value}}, {Name: "Accept", Values: []string{"a"}}},
		}
		if _, err := p.admit(head); err != nil {
			return
		}
		request, err := p.request(t.Context(), head, strings.NewReader(""))
		if err != nil {
			return
		}
		for header := range request.Header {
			upgrading := upgrade != "" && (header == "Connection" || header == "Upgrade")
			if kubereq.IdentityHeader(header) || kubereq.HopHeader(header) && !upgrading {
				t.Errorf("%q leaves with %q", head, header)
			}
		}
		if request.URL.Host != base.Host || request.Host != base.Host || request.URL.Scheme != "https" || request.URL.User != nil {
			t.Errorf("%q goes to %s", uri, request.URL)
		}
		path, query, _ := strings.Cut(uri, "?")
		if got := request.URL.EscapedPath(); got != "/prefix"+path || request.URL.RawQuery != query {
			// What is not escaped need not be, and the other way round.
			plain, err := url.PathUnescape(path)
			if err != nil || request.URL.Path != "/prefix"+plain || request.URL.RawQuery != query {
				t.Errorf("%q becomes %s", uri, request.URL)
			}
		}
		if !token(request.Method) || request.Method != method {
			t.Errorf("method %q leaves as %q", method, request.Method)
		}
	})
}

// The API server's log names a request as the hub's record does.
func TestRequestsKeepTheirName(t *testing.T) {
	p := &Proxy{base: &url.URL{Scheme: "https", Host: "10.0.0.1"}}
	request, err := p.request(t.Context(), &agentv1.StreamHead{
		Method: http.MethodGet, RequestUri: "/version", RequestId: "of-the-hub", Headers: []*agentv1.StreamHeader{{Name: "audit-id", Values: []string{"forged"}}},
	}, nil)
	if err != nil || len(request.Header["Audit-Id"]) != 1 || request.Header.Get("Audit-Id") != "of-the-hub" {
		t.Errorf("named %v, %v", request, err)
	}
}
