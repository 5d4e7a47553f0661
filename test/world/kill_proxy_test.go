package world_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/test/kube"
)

// apiCall is one request of an agent to its API server. Watches do not count: they
// change nothing.
type apiCall struct {
	// key is the verb and the kind, such as "PATCH configmaps".
	key  string
	path string
}

// death is a moment at which an agent is killed.
type death struct {
	// key is the call to wait for, and nth its occurrence. An empty key is any call.
	key string
	nth int
	// after lets the call happen first, and loses only its answer.
	after bool
}

func (d death) String() string {
	when := "before"
	if d.after {
		when = "after"
	}
	if d.key == "" {
		return fmt.Sprintf("%s call %d", when, d.nth)
	}
	return fmt.Sprintf("%s %s", when, d.key)
}

// killProxy sits between one agent and its API server, counts the requests and kills
// the agent at chosen calls.
type killProxy struct {
	// URL is where the agent finds the API server.
	URL string

	server *http.Server
	api    *httputil.ReverseProxy
	// kill ends the agent and returns once it is gone.
	kill func()

	mu      sync.Mutex
	calls   []apiCall
	seen    map[string]int
	armed   []death
	fired   []death
	deletes []string
	// died is told of each kill.
	died chan death
}

func newKillProxy(t *testing.T, cluster *kube.Cluster, user string) *killProxy {
	t.Helper()
	conf, err := cluster.ConfigFor(user, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(conf)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &killProxy{URL: "http://" + listener.Addr().String(), seen: map[string]int{}, died: make(chan death, 100)}
	p.api = &httputil.ReverseProxy{Transport: transport, FlushInterval: -1,
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(listener) }()
	t.Cleanup(func() { _ = p.server.Close() })
	return p
}

// begin starts a step: the counters are reset and these kills are due.
func (p *killProxy) begin(deaths []death) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls, p.seen, p.armed, p.fired = nil, map[string]int{}, append([]death(nil), deaths...), nil
}

// end ends a step, and returns the calls and the deaths that it saw.
func (p *killProxy) end() ([]apiCall, []death) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = nil
	return p.calls, p.fired
}

// Deletes are the objects for whose deletion was asked, ever.
func (p *killProxy) Deletes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.deletes...)
}

// count notes a call and returns the death that is due at it.
func (p *killProxy) count(r *http.Request) (death, bool) {
	call := apiCall{callKey(r), r.URL.Path}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, call)
	p.seen[call.key]++
	if r.Method == http.MethodDelete {
		p.deletes = append(p.deletes, call.path)
	}
	for i, d := range p.armed {
		if d.key == "" && d.nth == len(p.calls) || d.key == call.key && d.nth <= p.seen[call.key] {
			p.armed = append(p.armed[:i:i], p.armed[i+1:]...)
			p.fired = append(p.fired, d)
			return d, true
		}
	}
	return death{}, false
}

// ServeHTTP passes a request on, unless the agent dies before it.
func (p *killProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "true" {
		p.api.ServeHTTP(w, r)
		return
	}
	d, due := p.count(r)
	if !due {
		p.api.ServeHTTP(w, r)
		return
	}
	if d.after {
		// The agent's own connection may end before the API server has acted.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.api.ServeHTTP(&nobody{header: http.Header{}}, r)
	}
	p.kill()
	p.died <- d
	panic(http.ErrAbortHandler)
}

// nobody drops an answer.
type nobody struct{ header http.Header }

func (n *nobody) Header() http.Header         { return n.header }
func (n *nobody) WriteHeader(int)             {}
func (n *nobody) Write(b []byte) (int, error) { return len(b), nil }

// callKey names the verb and the kind of a request.
func callKey(r *http.Request) string {
	verb := r.Method
	if verb == http.MethodPatch {
		switch form := r.Header.Get("Content-Type"); {
		case strings.Contains(form, "apply"):
			verb = "APPLY"
		case strings.Contains(form, "merge"):
			verb = "MERGE"
		}
	}
	part := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(part) > 2 && part[0] == "api":
		part = part[2:]
	case len(part) > 3 && part[0] == "apis":
		part = part[3:]
	default:
		return verb + " discovery"
	}
	kind := part[0]
	if kind == "namespaces" && len(part) > 2 {
		kind = part[2]
	}
	if kind == "secrets" && strings.Contains(r.URL.Path+r.URL.RawQuery, "inventory") || kind == "secrets" && r.Method == http.MethodPost {
		kind = "inventory"
	}
	return verb + " " + kind
}
