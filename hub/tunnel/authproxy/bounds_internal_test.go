package authproxy

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

// stage is a proxy whose people, clusters and time the test controls, and which
// records what would be sent to a cluster.
type stage struct {
	*Proxy
	t     *testing.T
	clock *clock.Manual

	mu       sync.Mutex
	people   map[string]identity.Principal // by token id, which is the bearer without axle_
	may      map[string]bool               // "person cluster-id"
	clusters map[string]Cluster
	nonces   map[string]bool
	heads    []*agentv1.StreamHead
	answer   *agentv1.StreamAnswer
}

func newStage(t *testing.T, change func(*Config)) *stage {
	t.Helper()
	s := &stage{
		t: t, clock: clock.NewManual(time.Unix(1e9, 0)), people: map[string]identity.Principal{}, may: map[string]bool{"ann cls_1": true, "ann cls_2": true, "bob cls_2": true},
		clusters: map[string]Cluster{"edge": {ID: "cls_1", Handle: "edge"}, "other": {ID: "cls_2", Handle: "other"}}, nonces: map[string]bool{}, answer: &agentv1.StreamAnswer{Status: 200},
	}
	for _, name := range []string{"ann", "bob", "eve"} {
		s.people["tok_"+name] = identity.Principal{Kind: identity.KindUser, ID: name, Name: name + "@example.com", Scopes: []string{"read", "write"}, TokenID: "tok_" + name}
	}
	c := Config{
		Open: s.open, Identity: s, Audit: silentLog{}, Sealer: boundSealer{}, Clock: s.clock,
		Cluster: func(_ context.Context, handle string) (Cluster, error) {
			if c, ok := s.clusters[handle]; ok {
				return c, nil
			}
			return Cluster{}, errcode.New(errcode.NotFound, "no such cluster")
		},
		Now: func(id string) (c Cluster, known bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, one := range s.clusters {
				if one.ID == id {
					c, known = one, true
				}
			}
			return c, known
		},
		UseNonce: func(_ context.Context, nonce []byte, _, _ int64) error {
			if s.nonces[string(nonce)] {
				return errcode.New(errcode.Conflict, "used")
			}
			s.nonces[string(nonce)] = true
			return nil
		},
	}
	if change != nil {
		change(&c)
	}
	var err error
	if s.Proxy, err = New(c); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) open(_ context.Context, _ string, head *agentv1.StreamHead) (Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The proxy uses it again.
	s.heads = append(s.heads, proto.Clone(head).(*agentv1.StreamHead))
	return &oneAnswer{s.answer}, nil
}

func (s *stage) Authenticate(_ context.Context, bearer string) (identity.Principal, error) {
	return s.Caller(context.Background(), strings.TrimPrefix(bearer, "axle_"))
}

func (s *stage) Caller(_ context.Context, tokenID string) (identity.Principal, error) {
	if p, ok := s.people[tokenID]; ok {
		return p, nil
	}
	return identity.Principal{}, errcode.New(errcode.Unauthorized, "not known")
}

// regroup puts ann into groups, and in no others.
func (s *stage) regroup(groups ...string) {
	p := s.people["tok_ann"]
	p.Groups = groups
	s.people["tok_ann"] = p
}

func (s *stage) Authorize(_ context.Context, p identity.Principal, _ identity.Action, scope identity.Scope) error {
	any := false
	for key, may := range s.may {
		any = any || may && strings.HasPrefix(key, p.ID+" ")
	}
	switch {
	case s.may[p.ID+" "+scope.Cluster]:
		return nil
	case !any:
		return errcode.New(errcode.Forbidden, "%w", identity.ErrNoAccess)
	}
	return errcode.New(errcode.Forbidden, "%w", identity.ErrNoBinding)
}

// do sends a request and returns the answer's status and whether anything went
// to a cluster.
func (s *stage) do(method, uri string, headers ...string) (status int, head *agentv1.StreamHead, answer http.Header) {
	s.t.Helper()
	r := httptest.NewRequest(method, "http://hub"+uri, nil)
	r.RequestURI = uri
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	s.heads = nil
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if len(s.heads) > 0 {
		head = s.heads[0]
	}
	return w.Code, head, w.Header()
}

func (s *stage) get(bearer, handle string) int {
	s.t.Helper()
	status, head, _ := s.do(http.MethodGet, Prefix+handle+"/api/v1/pods", "Authorization", "Bearer "+bearer)
	if (head != nil) != (status == http.StatusOK) {
		s.t.Errorf("answered with %d, and the cluster got %v", status, head)
	}
	return status
}

var webSocketUpgrade = []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-Websocket-Version", "13", "Sec-Websocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}

type silentLog struct{}

func (silentLog) Add(context.Context, audit.Record)          {}
func (silentLog) AddNow(context.Context, audit.Record) error { return nil }

// boundSealer opens what it sealed for the same purpose.
type boundSealer struct{}

func (boundSealer) Seal(plain []byte, purpose string) string {
	return hex.EncodeToString([]byte(purpose + "|" + string(plain)))
}

func (boundSealer) Open(text, purpose string) ([]byte, error) {
	plain, err := hex.DecodeString(text)
	rest, ok := strings.CutPrefix(string(plain), purpose+"|")
	if err != nil || !ok {
		return nil, errors.New("sealed for something else")
	}
	return []byte(rest), nil
}

// oneAnswer is a cluster's answer without a body.
type oneAnswer struct{ answer *agentv1.StreamAnswer }

func (*oneAnswer) Read([]byte) (int, error)    { return 0, io.EOF }
func (*oneAnswer) Write(p []byte) (int, error) { return len(p), nil }
func (*oneAnswer) CloseWrite() error           { return nil }
func (*oneAnswer) Close() error                { return nil }
func (o *oneAnswer) Answer(context.Context) (*agentv1.StreamAnswer, error) {
	return o.answer, nil
}

func TestCredentialsAreForOneClusterAndEnd(t *testing.T) {
	s := newStage(t, nil)
	ann := s.people["tok_ann"]
	credential := func(lifetime time.Duration) string {
		t.Helper()
		bearer, until, err := s.Credential(t.Context(), ann, "edge", lifetime)
		if err != nil {
			t.Fatal(err)
		}
		if left := clock.FromMicros(until).Sub(s.clock.Now()); left > time.Hour || lifetime > 0 && left > lifetime {
			t.Errorf("one asked for %s lives %s", lifetime, left)
		}
		return bearer
	}
	good := credential(0)
	credential(5 * time.Hour)
	if got := s.get(good, "edge"); got != http.StatusOK {
		t.Errorf("as it should be: %d", got)
	}
	if got := s.get(good, "other"); got != http.StatusForbidden {
		t.Errorf("at another cluster: %d", got)
	}
	ticket, _, err := s.Ticket(t.Context(), ann, "edge", "/api/v1/pods")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.get(credentialPrefix+ticket, "edge"); got != http.StatusUnauthorized {
		t.Errorf("a ticket as a credential: %d", got)
	}
	if got, _, _ := s.do(http.MethodGet, TicketPath+"?ticket="+strings.TrimPrefix(good, credentialPrefix), webSocketUpgrade...); got != http.StatusUnauthorized {
		t.Errorf("a credential as a ticket: %d", got)
	}
	if _, _, err := s.Credential(t.Context(), s.people["tok_bob"], "edge", 0); !errors.Is(err, identity.ErrNoBinding) {
		t.Errorf("one who may not use the cluster has one: %v", err)
	}
	s.clock.Advance(59 * time.Minute)
	if got := s.get(good, "edge"); got != http.StatusOK {
		t.Errorf("after 59 min: %d", got)
	}
	s.clock.Advance(2 * time.Minute)
	if got := s.get(good, "edge"); got != http.StatusUnauthorized {
		t.Errorf("after 61 min: %d", got)
	}
	ann.TokenExpiresAt = clock.Micros(s.clock.Now().Add(10 * time.Minute))
	if _, until, err := s.Credential(t.Context(), ann, "edge", 0); err != nil || until != ann.TokenExpiresAt {
		t.Errorf("it ends at %d, its token at %d, %v", until, ann.TokenExpiresAt, err)
	}
	late := credential(0)
	delete(s.people, "tok_ann")
	if got := s.get(late, "edge"); got != http.StatusUnauthorized {
		t.Errorf("of a token that was revoked: %d", got)
	}
}

// A stream lasts as long as its credential, its token and its binding.
func TestStreamsEndWithWhatLetThemBegin(t *testing.T) {
	for name, test := range map[string]struct {
		until time.Duration
		end   func(*stage)
		ends  bool
	}{
		"nothing happens":      {time.Hour, func(*stage) {}, false},
		"the credential ends":  {time.Minute, func(s *stage) { s.clock.Advance(time.Minute) }, true},
		"the token is revoked": {time.Hour, func(s *stage) { delete(s.people, "tok_ann") }, true},
		"the binding goes":     {time.Hour, func(s *stage) { delete(s.may, "ann cls_1") }, true},
		"another binding goes": {time.Hour, func(s *stage) { delete(s.may, "ann cls_2") }, false},
		"a group goes":         {time.Hour, func(s *stage) { s.regroup("ops") }, true},
		"a group comes":        {time.Hour, func(s *stage) { s.regroup("dev", "ops") }, false},
		"the project gets limits": {time.Hour, func(s *stage) {
			s.clusters["edge"] = Cluster{ID: "cls_1", Handle: "edge", LimitsNamespaces: true}
		}, true},
		"the cluster gets another handle": {time.Hour, func(s *stage) {
			s.clusters["moved"] = s.clusters["edge"]
			delete(s.clusters, "edge")
		}, false},
	} {
		s := newStage(t, nil)
		s.regroup("dev")
		ctx, cancel := context.WithCancelCause(t.Context())
		a := &parsedRequest{caller: s.people["tok_ann"], cluster: s.clusters["edge"], until: clock.Micros(s.clock.Now().Add(test.until)), head: &agentv1.StreamHead{}}
		if err := s.allow(ctx, a); err != nil {
			t.Fatal(err)
		}
		l := a.live(cancel)
		s.streams.add(l)
		elsewhere, done, err := NewPages(s.Proxy).WhileObserving(t.Context(), Asking{Caller: s.people["tok_ann"], Handle: "edge"})
		if err != nil {
			t.Fatal(err)
		}
		test.end(s)
		s.look(t.Context())
		// What is no request of a cluster has no credential of its own.
		if ended := errors.Is(context.Cause(elsewhere), errRevoked); ended != (test.ends && test.until == time.Hour) {
			t.Errorf("%s: what was open elsewhere ended: %v (%v)", name, ended, context.Cause(elsewhere))
		}
		done()
		if ended := errors.Is(context.Cause(ctx), errRevoked); ended != test.ends {
			t.Errorf("%s: the stream ended: %v (%v)", name, ended, context.Cause(ctx))
		}
		cancel(nil)
	}
}

func TestTicketsAreForOnePlaceAndTime(t *testing.T) {
	const uri = "/api/v1/namespaces/a/pods/b/exec?command=true"
	for name, test := range map[string]struct {
		meanwhile func(*stage)
		want      int
	}{
		"nothing happens":      {func(*stage) {}, http.StatusOK},
		"half a minute passes": {func(s *stage) { s.clock.Advance(ticketFor) }, http.StatusUnauthorized},
		"the token is revoked": {func(s *stage) { delete(s.people, "tok_ann") }, http.StatusUnauthorized},
		"the binding goes":     {func(s *stage) { delete(s.may, "ann cls_1") }, http.StatusNotFound},
		"all bindings go":      {func(s *stage) { clear(s.may) }, http.StatusForbidden},
		"another has the handle": {func(s *stage) {
			s.clusters["edge"] = Cluster{ID: "cls_2", Handle: "edge"}
			s.clock.Advance(3 * time.Second)
		}, http.StatusNotFound},
		"only reading is left": {func(s *stage) {
			p := s.people["tok_ann"]
			p.Scopes = []string{"read"}
			s.people["tok_ann"] = p
		}, http.StatusForbidden},
	} {
		s := newStage(t, nil)
		ticket, _, err := s.Ticket(t.Context(), s.people["tok_ann"], "edge", uri)
		if err != nil {
			t.Fatal(err)
		}
		test.meanwhile(s)
		headers := append(slices.Clone(webSocketUpgrade), "X-Evil", "1", "Accept", "text/html", "Authorization", "Bearer axle_tok_bob")
		got, head, _ := s.do(http.MethodGet, TicketPath+"?ticket="+ticket, headers...)
		if got != test.want || (head != nil) != (test.want == http.StatusOK) {
			t.Errorf("%s: %d %v", name, got, head)
		}
		if head == nil {
			continue
		}
		if head.GetRequestUri() != uri || head.GetIdentity().GetUser() != "ann@example.com" {
			t.Errorf("the cluster gets %v", head)
		}
		for _, h := range head.GetHeaders() {
			if h.GetName() != "X-Forwarded-For" && h.GetName() != "User-Agent" && !strings.HasPrefix(h.GetName(), "Sec-Websocket-") {
				t.Errorf("header %s of the page goes along", h.GetName())
			}
		}
		if again, _, _ := s.do(http.MethodGet, TicketPath+"?ticket="+ticket, webSocketUpgrade...); again != http.StatusUnauthorized {
			t.Errorf("the ticket once more: %d", again)
		}
	}
}

// Pages of other sites open nothing, whatever ticket they got hold of.
func TestTicketsAreForPagesOfTheHub(t *testing.T) {
	s := newStage(t, nil)
	for origin, want := range map[string]int{
		"http://hub": 200, "https://hub": 200, "": 200,
		"https://evil.example": 403, "http://hub.evil.example": 403, "null": 403, "http://hub:8080": 403, "http://hub@evil.example": 403, "%": 403,
	} {
		ticket, _, err := s.Ticket(t.Context(), s.people["tok_ann"], "edge", "/api/v1/pods")
		if err != nil {
			t.Fatal(err)
		}
		headers := slices.Clone(webSocketUpgrade)
		if origin != "" {
			headers = append(headers, "Origin", origin)
		}
		if got, head, _ := s.do(http.MethodGet, TicketPath+"?ticket="+ticket, headers...); got != want || (head != nil) != (want == 200) {
			t.Errorf("a page of %q: %d, want %d", origin, got, want)
		}
	}
}

// A caller without access gets the same answer for existing and missing
// clusters, and a read-only token cannot write.
func TestWhoMayUseWhichCluster(t *testing.T) {
	s := newStage(t, nil)
	reader := s.people["tok_ann"]
	reader.Scopes, reader.TokenID = []string{"read"}, "tok_reader"
	s.people["tok_reader"] = reader
	for name, test := range map[string]struct {
		token, method, handle, path string
		want                        int
	}{
		"as it should be":                {"ann", "DELETE", "edge", "/api/v1/namespaces/a/pods/b", 200},
		"nobody":                         {"nobody", "GET", "edge", "/api", 401},
		"nobody, of no cluster":          {"nobody", "GET", "none", "/api", 401},
		"no right at all":                {"eve", "GET", "edge", "/api", 403},
		"no right at all, of no cluster": {"eve", "GET", "none", "/api", 403},
		"no right here":                  {"bob", "GET", "edge", "/api", 404},
		"no such cluster":                {"bob", "GET", "none", "/api", 404},
		"a reader reads":                 {"reader", "GET", "edge", "/api/v1/pods", 200},
		"a reader writes":                {"reader", "DELETE", "edge", "/api/v1/namespaces/a/pods/b", 403},
		"a reader connects":              {"reader", "GET", "edge", "/api/v1/namespaces/a/pods/b/proxy/", 403},
	} {
		got, head, _ := s.do(test.method, Prefix+test.handle+test.path, "Authorization", "Bearer axle_tok_"+test.token)
		if got != test.want || (head != nil) != (test.want == 200) {
			t.Errorf("%s: %d, and the cluster gets %v", name, got, head)
		}
	}
	for _, q := range []Asking{
		{Caller: s.people["tok_ann"], Handle: "edge", URI: "/api/v1/namespaces/a/pods/b/exec"},
		{Caller: s.people["tok_ann"], Handle: "edge", URI: "/api/v1/nodes/a/proxy/run"},
		{Caller: s.people["tok_ann"], Handle: "edge", URI: "/api/../x"},
		{Caller: s.people["tok_bob"], Handle: "edge", URI: "/api/v1/pods"},
		{Caller: s.people["tok_eve"], Handle: "edge", URI: "/api/v1/pods"},
	} {
		s.heads = nil
		if _, err := NewPages(s.Proxy).Do(t.Context(), q); err == nil || len(s.heads) > 0 {
			t.Errorf("%s reads %s: %v", q.Caller.Name, q.URI, err)
		}
	}
}

// The groups of the hub's rights hold in every namespace of a cluster, so they must not
// lead around the limits of its project.
func TestLimitsOfAProjectHoldInsideItsClusters(t *testing.T) {
	s := newStage(t, nil)
	for handle, test := range map[string]struct {
		cluster Cluster
		want    []string
	}{
		"open":       {Cluster{ID: "cls_1"}, []string{ReadGroup, WriteGroup}},
		"limited":    {Cluster{ID: "cls_1", Limited: true}, []string{ReadGroup}},
		"namespaces": {Cluster{ID: "cls_1", Limited: true, LimitsNamespaces: true}, nil},
		"of-others":  {Cluster{ID: "cls_3"}, nil},
	} {
		test.cluster.Handle = handle
		s.clusters[handle] = test.cluster
		status, head, _ := s.do(http.MethodGet, Prefix+handle+"/api/v1/pods", "Authorization", "Bearer axle_tok_ann")
		if got := head.GetIdentity().GetGroups(); !slices.Equal(got, test.want) {
			t.Errorf("%s: answered with %d, and the cluster sees the groups %v, want %v", handle, status, got, test.want)
		}
	}
}

func TestNamesOfTheHubAndTheClusterAreKept(t *testing.T) {
	p := identity.Principal{Name: "ann@example.com", Groups: []string{
		"dev", "axle:admins", "axle:other", "System:masters", "kubeadm:cluster-admins", " Kubeadm :cluster-admins", "eks:node-manager", "gke-security:x",
	}}
	for _, admin := range []bool{false, true} {
		for _, scope := range identity.AllScopes {
			p.Admin, p.Scopes = admin, []string{scope}
			want := []string{"dev"}
			if admin && scope == identity.ScopeAdmin {
				want = append(want, identity.AdminsGroup)
			}
			if who, err := as(p, nil); err != nil || !slices.Equal(who.GetGroups(), want) {
				t.Errorf("administrator %v, scope %s: %v, %v", admin, scope, who, err)
			}
		}
	}
	p.Admin, p.Scopes, p.Project = true, identity.AllScopes, "prj_1"
	if who, err := as(p, nil); err != nil || !slices.Equal(who.GetGroups(), []string{"dev"}) {
		t.Errorf("an administrator whose token is for one project: %v, %v", who, err)
	}
	for _, bad := range []identity.Principal{{Name: "system:admin"}, {Name: "kubeadm:cluster-admins"}, {Name: ""}, {Name: "a\nb"}} {
		if who, err := as(bad, nil); err == nil {
			t.Errorf("%+v goes to a cluster as %v", bad, who)
		}
	}
}

func TestRequestsThatNoClusterGets(t *testing.T) {
	s := newStage(t, nil)
	const pods = Prefix + "edge/api/v1/namespaces/a/pods"
	ann := []string{"Authorization", "Bearer axle_tok_ann"}
	for name, test := range map[string]struct {
		method, uri string
		headers     []string
	}{
		"TRACE":                    {"TRACE", pods, nil},
		"a made-up method":         {"LINK", pods, nil},
		"two upgrades":             {"GET", pods, []string{"Connection", "Upgrade", "Upgrade", "websocket", "Upgrade", "SPDY/3.1"}},
		"an upgrade not connected": {"GET", pods, []string{"Upgrade", "websocket"}},
		"a connection without":     {"GET", pods, []string{"Connection", "Upgrade"}},
		"an unknown upgrade":       {"GET", pods, []string{"Connection", "Upgrade", "Upgrade", "h2c"}},
		"a WebSocket by POST":      {"POST", pods, webSocketUpgrade},
		"SPDY by DELETE":           {"DELETE", pods, []string{"Connection", "Upgrade", "Upgrade", "SPDY/3.1"}},
		"somebody's identity":      {"GET", pods, []string{"Impersonate_User", "root"}},
		"a token in the protocols": {"GET", pods, append(slices.Clone(webSocketUpgrade), "Sec-Websocket-Protocol", "base64url.bearer.authorization.k8s.io.YWJj")},
		"dots":                     {"GET", Prefix + "edge/api/../x", nil},
	} {
		if got, head, _ := s.do(test.method, test.uri, append(slices.Clone(ann), test.headers...)...); got < 400 || got > 499 || head != nil {
			t.Errorf("%s: %d, and the cluster gets %v", name, got, head)
		}
	}
	_, head, _ := s.do("GET", pods, append(slices.Clone(ann), "X-Forwarded-For", "203.0.113.9", "Audit-Id", "forged", "X-Remote-User", "root", "Cookie", "a=b")...)
	for _, h := range head.GetHeaders() {
		if h.GetName() != "X-Forwarded-For" || !slices.Equal(h.GetValues(), []string{"192.0.2.1"}) {
			t.Errorf("header %v goes along", h)
		}
	}
	// A cluster cannot switch to a protocol that was not requested.
	s.answer = &agentv1.StreamAnswer{Status: http.StatusSwitchingProtocols, Upgrade: kubereq.SPDY}
	if got, _, _ := s.do("GET", pods+"/b/exec", append(slices.Clone(ann), webSocketUpgrade...)...); got != http.StatusServiceUnavailable {
		t.Errorf("another protocol: %d", got)
	}
}

func TestClustersOnAnOriginOfTheirOwn(t *testing.T) {
	s := newStage(t, func(c *Config) { c.Origin = "https://k8s.example.com" })
	if got := s.get("axle_tok_ann", "edge"); got != http.StatusNotFound {
		t.Errorf("on the hub's own host: %d", got)
	}
	own := newStage(t, func(c *Config) { c.Origin = "https://hub" })
	if got := own.get("axle_tok_ann", "edge"); got != http.StatusOK {
		t.Errorf("on the clusters' host: %d", got)
	}
}
