package authproxy

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/kubereq"
)

// hubEnd is the hub's side of one stream.
type hubEnd struct {
	head   *agentv1.StreamHead
	answer *agentv1.StreamAnswer
	body   bytes.Buffer
}

func (h *hubEnd) Head() *agentv1.StreamHead            { return h.head }
func (h *hubEnd) Answer(a *agentv1.StreamAnswer) error { h.answer = a; return nil }
func (h *hubEnd) Begin(a *agentv1.StreamAnswer) error  { return h.Answer(a) }
func (h *hubEnd) Read([]byte) (int, error)             { return 0, io.EOF }
func (h *hubEnd) Write(p []byte) (int, error)          { return h.body.Write(p) }
func (h *hubEnd) Flush() error                         { return nil }
func (h *hubEnd) Fail(error)                           {}

func (h *hubEnd) location() (all []string) {
	for _, header := range h.answer.GetHeaders() {
		if strings.EqualFold(header.GetName(), "Location") {
			all = append(all, header.GetValues()...)
		}
	}
	return all
}

// An API server that is taken over sends nobody elsewhere with their token: redirects
// lead to its own paths, or are refused, whatever the request.
func TestRedirectsLeadToTheAPIServer(t *testing.T) {
	var own, location string
	var status int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Location"] = strings.Split(strings.ReplaceAll(location, "OWN", own), " and ")
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	own = server.URL
	p, err := New(Config{Rest: &rest.Config{Host: server.URL + "/prefix"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	requests := map[string]*agentv1.StreamHead{
		"a read":     {Method: http.MethodGet, RequestUri: "/api/v1/pods"},
		"a write":    {Method: http.MethodPut, RequestUri: "/api/v1/pods"},
		"a watch":    {Method: http.MethodGet, RequestUri: "/api/v1/pods?watch=1"},
		"an upgrade": {Method: http.MethodGet, RequestUri: "/api/v1/pods", Upgrade: kubereq.WebSocket},
		"SPDY":       {Method: http.MethodPost, RequestUri: "/api/v1/pods", Upgrade: kubereq.SPDY},
	}
	for _, test := range []struct {
		status         int
		location, want string
	}{
		{302, "OWN/prefix/api/v1/pods/", "/api/v1/pods/"}, {307, "/prefix/version", "/version"}, {301, "OWN/prefix/x?y=z", "/x?y=z"},
		{302, "https://evil.example/", ""}, {307, "https://evil.example/", ""}, {308, "//evil.example/", ""}, {301, "OWN.evil.example/", ""}, {303, "OWN//evil.example/", ""},
		{300, "https://evil.example/", ""}, {399, "https://evil.example/", ""}, {302, "/outside", ""}, {302, "/prefixed/x", ""}, {307, "/prefix/../x", ""},
		{302, "/prefix/a and https://evil.example/", ""}, {302, "http://[", ""}, {302, `/\evil.example`, ""},
	} {
		for name, head := range requests {
			status, location = test.status, test.location
			s := &hubEnd{head: head}
			head.Identity = &agentv1.StreamIdentity{User: "ann@example.com"}
			p.Serve(t.Context(), s)
			got := strings.Join(s.location(), " and ")
			if refused := s.answer.GetStatus() == http.StatusForbidden && got == ""; refused != (test.want == "") || got != test.want {
				t.Errorf("%s: %d to %q: answered %d to %q, want %q: %s", name, test.status, test.location, s.answer.GetStatus(), got, test.want, s.body.String())
			}
		}
	}
	// What is no redirect loses a location that leads elsewhere.
	status, location = http.StatusCreated, "https://evil.example/"
	s := &hubEnd{head: requests["a write"]}
	p.Serve(t.Context(), s)
	if s.answer.GetStatus() != http.StatusCreated || len(s.location()) > 0 {
		t.Errorf("created: %v", s.answer)
	}
}
