package authproxy_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/identitytest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// rightsLimit is how long a step may take on a loaded machine.
const rightsLimit = time.Minute

// rightsBed is the proxy of one replica; people and their rights change at another,
// env.
type rightsBed struct {
	*identitytest.Identity
	proxy  *authproxy.Proxy
	server *httptest.Server

	mu      sync.Mutex
	cluster authproxy.Cluster
	heads   []*agentv1.StreamHead
}

func newRightsBed(t *testing.T, d storetest.Database) *rightsBed {
	t.Helper()
	b := &rightsBed{Identity: identitytest.New(t, d), cluster: authproxy.Cluster{ID: "cls_1", Name: "edge", Handle: "edge", Project: "prj_shop"}}
	other := b.Replica()
	var err error
	b.proxy, err = authproxy.New(authproxy.Config{
		Open: b.open, Identity: other, Audit: noLog{}, Sealer: b.Fleet.Sealer,
		Cluster:  func(context.Context, string) (authproxy.Cluster, error) { return b.now(), nil },
		Now:      func(string) (authproxy.Cluster, bool) { return b.now(), true },
		UseNonce: func(context.Context, []byte, int64, int64) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.proxy.Run(ctx) }()
	b.server = httptest.NewServer(b.proxy)
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		b.server.Close()
	})
	return b
}

func (b *rightsBed) now() authproxy.Cluster {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cluster
}

// become makes the cluster another one from now on.
func (b *rightsBed) become(change func(*authproxy.Cluster)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.cluster)
}

// open is a cluster that answers everything and sends nothing until the stream ends.
func (b *rightsBed) open(ctx context.Context, _ string, head *agentv1.StreamHead) (authproxy.Stream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heads = append(b.heads, head)
	return &following{ctx, head}, nil
}

type following struct {
	ctx  context.Context
	head *agentv1.StreamHead
}

func (f *following) Read([]byte) (int, error) {
	<-f.ctx.Done()
	return 0, context.Cause(f.ctx)
}
func (f *following) Write(p []byte) (int, error) { return len(p), nil }
func (f *following) CloseWrite() error           { return nil }
func (f *following) Close() error                { return nil }
func (f *following) Answer(context.Context) (*agentv1.StreamAnswer, error) {
	if protocol := f.head.GetUpgrade(); protocol != "" {
		a := &agentv1.StreamAnswer{Status: http.StatusSwitchingProtocols, Upgrade: protocol}
		// Commands speak the newest protocol that kubectl offers.
		if info := kubereq.Parse(f.head.GetMethod(), f.head.GetRequestUri(), protocol); info.Subresource == "exec" || info.Subresource == "attach" {
			a.Headers = []*agentv1.StreamHeader{{Name: "Sec-Websocket-Protocol", Values: []string{"v5.channel.k8s.io"}}}
			if protocol == kubereq.SPDY {
				a.Headers = []*agentv1.StreamHeader{{Name: "X-Stream-Protocol-Version", Values: []string{"v4.channel.k8s.io"}}}
			}
		}
		return a, nil
	}
	return &agentv1.StreamAnswer{Status: http.StatusOK}, nil
}

type noLog struct{}

func (noLog) Add(context.Context, audit.Record)          {}
func (noLog) AddNow(context.Context, audit.Record) error { return nil }

// send makes a request, "METHOD path" or "METHOD+PROTOCOL path", and returns the answer's
// status, what the cluster was shown, and the connection with what was read ahead.
func (b *rightsBed) send(bearer, request string) (status int, who *agentv1.StreamIdentity, conn net.Conn, rest io.Reader) {
	b.T.Helper()
	conn, err := net.Dial("tcp", b.server.Listener.Addr().String())
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * rightsLimit)); err != nil {
		b.T.Fatal(err)
	}
	method, path, _ := strings.Cut(request, " ")
	more := ""
	method, protocol, upgrades := strings.Cut(method, "+")
	if upgrades {
		more = "Connection: Upgrade\r\nUpgrade: " + protocol + "\r\n"
	}
	if protocol == kubereq.WebSocket {
		more += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
	}
	if bearer != "" {
		more += "Authorization: Bearer " + bearer + "\r\n"
	}
	b.mu.Lock()
	b.heads = nil
	b.mu.Unlock()
	if _, err := io.WriteString(conn, method+" "+path+" HTTP/1.1\r\nHost: hub\r\n"+more+"\r\n"); err != nil {
		b.T.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	if err != nil {
		b.T.Fatal(err)
	}
	rest = reader
	if answer.StatusCode != http.StatusSwitchingProtocols {
		rest = answer.Body
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.heads) > 0 {
		who = b.heads[0].GetIdentity()
	}
	return answer.StatusCode, who, conn, rest
}

const edgePath = authproxy.Prefix + "edge"

// person creates one with a token of each scope, and returns the bearers by scope.
func (b *rightsBed) person(name string, admin bool, actions ...identity.Action) map[string]string {
	b.T.Helper()
	ctx := b.T.Context()
	u, err := b.CreateUser(ctx, "ann", identity.KindUser, name, admin)
	if err != nil {
		b.T.Fatal(err)
	}
	if len(actions) > 0 {
		b.bind(identity.KindUser, name, actions...)
	}
	bearers := map[string]string{}
	for _, scope := range identity.AllScopes {
		made, err := b.CreateToken(ctx, identity.Principal{Kind: u.Kind, ID: u.ID, Name: u.Name, Admin: admin, Scopes: identity.AllScopes}, identity.TokenRequest{Name: scope, Scopes: []string{scope}})
		if err != nil {
			b.T.Fatal(err)
		}
		bearers[scope] = made.Secret
	}
	for _, action := range actions {
		if group := map[identity.Action]string{identity.ActionRead: authproxy.ReadGroup, identity.ActionWrite: authproxy.WriteGroup}[action]; group != "" {
			b.await(bearers["admin"], group)
		}
	}
	if admin {
		b.await(bearers["admin"], identity.AdminsGroup)
	}
	return bearers
}

func (b *rightsBed) bind(kind identity.Kind, subject string, actions ...identity.Action) {
	b.T.Helper()
	_, err := b.Bind(b.T.Context(), "ann", identity.NewBinding{SubjectKind: kind, Subject: subject, Actions: actions, Level: identity.LevelCluster, ObjectID: "cls_1", Object: "edge"})
	if err != nil {
		b.T.Fatal(err)
	}
}

func (b *rightsBed) unbind(subject string, action identity.Action) error {
	_, err := b.Unbind(b.T.Context(), "ann", identity.NewBinding{SubjectKind: identity.KindUser, Subject: subject, Actions: []identity.Action{action}, Level: identity.LevelCluster, ObjectID: "cls_1", Object: "edge"})
	return err
}

// TestEveryScopeAndBindingOnEveryVerb: what reaches a cluster, and which of the hub's
// groups it is shown, by the person's rights and the token's scope.
func TestEveryScopeAndBindingOnEveryVerb(t *testing.T) {
	b := newRightsBed(t, storetest.SQLite(t))
	people := map[string]map[string]string{
		"administrator": b.person("root@example.com", true), "writer": b.person("writer@example.com", false, identity.ActionWrite),
		"reader": b.person("reader@example.com", false, identity.ActionRead), "creator": b.person("creator@example.com", false, identity.ActionCreate),
		"git": b.person("git@example.com", false, identity.ActionGit), "nobody": b.person("nobody@example.com", false),
	}
	const read, write = authproxy.ReadGroup, authproxy.WriteGroup
	groups := map[string]map[string]string{
		"administrator": {"read": read, "write": read + " " + write, "admin": identity.AdminsGroup + " " + read + " " + write},
		"writer":        {"read": read, "write": read + " " + write, "admin": read + " " + write},
		"reader":        {"read": read, "write": read, "admin": read},
	}
	for who, bearers := range people {
		for scope, bearer := range bearers {
			for request, reads := range verbs {
				row, path, _ := strings.Cut(request, " ")
				for _, method := range over(row) {
					status, shown, conn, _ := b.send(bearer, method+" "+edgePath+path)
					_ = conn.Close()
					want, may := groups[who][scope]
					may = may && (reads || scope != identity.ScopeRead)
					if got := strings.Join(shown.GetGroups(), " "); (shown != nil) != may || may && got != want || !may && status != http.StatusForbidden && status != http.StatusNotFound {
						t.Errorf("%s with %s: %s %s: %d, and the cluster is shown %v; let through: %v as %q", who, scope, method, path, status, shown, may, want)
					}
				}
			}
		}
	}
	for _, header := range []string{"Impersonate-User: root", "Impersonate-Group: system:masters", "Impersonate_Uid: 0", "Impersonate-Extra-scopes: all"} {
		bearer := people["administrator"]["admin"] + "\r\n" + header
		if status, shown, _, _ := b.send(bearer, "GET "+edgePath+"/version"); status != http.StatusBadRequest || shown != nil {
			t.Errorf("%s: %d, and the cluster is shown %v", header, status, shown)
		}
	}
}

// openStreams are what stays open: a watch, and each way into a container by the
// protocols and methods of kubectl's versions.
func openStreams() []string {
	all := []string{"GET " + edgePath + "/api/v1/pods?watch=1"}
	for _, way := range []string{"exec?command=sh", "attach", "portforward"} {
		for _, method := range []string{"GET+" + kubereq.WebSocket, "POST+" + kubereq.SPDY} {
			all = append(all, method+" "+edgePath+"/api/v1/namespaces/a/pods/b/"+way)
		}
	}
	return all
}

// TestOpenStreamsEndWithTheirRight takes away at one replica what streams at another were
// opened with.
func TestOpenStreamsEndWithTheirRight(t *testing.T) {
	for name, c := range streamEnds {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
				b := newRightsBed(t, d)
				if _, err := b.CreateGroup(t.Context(), "ann", "ops", ""); err != nil {
					t.Fatal(err)
				}
				bearer := c.open(b)
				streams := openStreams()
				ends := make(chan string, len(streams))
				for _, request := range streams {
					status, shown, _, rest := b.send(bearer, request)
					if shown == nil {
						t.Fatalf("%s: %d", request, status)
					}
					go func() {
						_, _ = io.Copy(io.Discard, rest)
						ends <- request
					}()
				}
				began := time.Now()
				if err := c.end(b); err != nil {
					t.Fatal(err)
				}
				if c.stays {
					b.staysOpen(ends)
					return
				}
				for range streams {
					select {
					case request := <-ends:
						t.Logf("%s ended after %s", request, time.Since(began).Round(10*time.Millisecond))
					case <-time.After(rightsLimit):
						t.Fatal("a stream is still open")
					}
				}
			})
		})
	}
}

// staysOpen opens another stream and takes its token: when that one ends, what was
// taken away earlier was seen too, and the others go on.
func (b *rightsBed) staysOpen(ends chan string) {
	b.T.Helper()
	witness := b.person("witness@example.com", true)
	status, shown, _, rest := b.send(witness["admin"], "GET "+edgePath+"/api/v1/pods?watch=1")
	if shown == nil {
		b.T.Fatalf("the witness: %d", status)
	}
	if err := b.DeleteUser(b.T.Context(), "ann", "witness@example.com"); err != nil {
		b.T.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, rest)
	select {
	case request := <-ends:
		b.T.Errorf("%s ended", request)
	default:
	}
}

// streamEnds are what a stream is opened with, and what ends it.
var streamEnds = map[string]struct {
	open  func(*rightsBed) (bearer string)
	end   func(*rightsBed) error
	stays bool
}{
	"the token is revoked": {writer, func(b *rightsBed) error {
		tokens, err := b.Tokens(b.T.Context(), b.Ann)
		i := slices.IndexFunc(tokens, func(t identity.Token) bool { return t.OwnerName == bob && slices.Equal(t.Scopes, []string{"write"}) })
		if err != nil || i < 0 {
			return errors.Join(err, errors.New("the token is not listed"))
		}
		return b.RevokeToken(b.T.Context(), b.Ann, tokens[i].ID)
	}, false},
	"the user is deleted":              {writer, func(b *rightsBed) error { return b.DeleteUser(b.T.Context(), "ann", bob) }, false},
	"the only binding goes":            {writer, func(b *rightsBed) error { return b.unbind(bob, identity.ActionWrite) }, false},
	"write goes and read stays":        {both, func(b *rightsBed) error { return b.unbind(bob, identity.ActionWrite) }, false},
	"read goes and write stays":        {both, func(b *rightsBed) error { return b.unbind(bob, identity.ActionRead) }, true},
	"the membership goes":              {member, func(b *rightsBed) error { return b.RemoveMember(b.T.Context(), "ann", "ops", bob) }, false},
	"the group goes":                   {member, func(b *rightsBed) error { return b.DeleteGroup(b.T.Context(), "ann", "ops") }, false},
	"a membership comes":               {writer, func(b *rightsBed) error { return b.AddMember(b.T.Context(), "ann", "ops", bob) }, true},
	"an administrator is one no more":  {administrator, func(b *rightsBed) error { _, err := b.SetAdmin(b.T.Context(), "ann", bob, false); return err }, false},
	"the cluster moves":                {ofProject, func(b *rightsBed) error { b.become(func(c *authproxy.Cluster) { c.Project = "prj_lab" }); return nil }, false},
	"the project gets limits":          {writer, func(b *rightsBed) error { b.become(func(c *authproxy.Cluster) { c.Limited = true }); return nil }, false},
	"the cluster moves, and it counts": {writer, func(b *rightsBed) error { b.become(func(c *authproxy.Cluster) { c.Project = "prj_lab" }); return nil }, true},
	"the service account is deleted":   {serviceAccount, func(b *rightsBed) error { return b.DeleteUser(b.T.Context(), "ann", "ci") }, false},
	"the session of a credential ends": {session, func(b *rightsBed) error {
		u, err := b.UserByName(b.T.Context(), bob)
		if err == nil {
			_, err = b.EndSessions(b.T.Context(), b.Ann, u.ID, false)
		}
		return err
	}, false},
	"the session is not used for long": {session, func(b *rightsBed) error { b.Fleet.Clock.Advance(13 * time.Hour); return nil }, false},
}

const bob = "bob@example.com"

func writer(b *rightsBed) string { return b.person(bob, false, identity.ActionWrite)["write"] }
func both(b *rightsBed) string {
	return b.person(bob, false, identity.ActionRead, identity.ActionWrite)["write"]
}
func administrator(b *rightsBed) string {
	return b.person(bob, true, identity.ActionWrite)["admin"]
}

// member may use the cluster by himself, and is in a group that the cluster is shown.
func member(b *rightsBed) string {
	bearer := writer(b)
	if err := b.AddMember(b.T.Context(), "ann", "ops", bob); err != nil {
		b.T.Fatal(err)
	}
	b.await(bearer, "ops")
	return bearer
}

// await waits until the proxy's replica lets a person in with a group.
func (b *rightsBed) await(bearer, group string) {
	b.T.Helper()
	for until := time.Now().Add(rightsLimit); ; {
		_, shown, conn, _ := b.send(bearer, "GET "+edgePath+"/version")
		_ = conn.Close()
		if slices.Contains(shown.GetGroups(), group) {
			return
		}
		if time.Now().After(until) {
			b.T.Fatalf("the cluster is shown %v", shown)
		}
	}
}

// ofProject may use the clusters of project shop.
func ofProject(b *rightsBed) string {
	bearer := b.person(bob, false)["write"]
	_, err := b.Bind(b.T.Context(), "ann", identity.NewBinding{
		SubjectKind: identity.KindUser, Subject: bob, Actions: []identity.Action{identity.ActionWrite}, Level: identity.LevelProject, ObjectID: "prj_shop", Object: "shop",
	})
	if err != nil {
		b.T.Fatal(err)
	}
	b.await(bearer, authproxy.WriteGroup)
	return bearer
}

func serviceAccount(b *rightsBed) string {
	if _, err := b.CreateServiceAccount(b.T.Context(), b.Ann, "ci", false); err != nil {
		b.T.Fatal(err)
	}
	b.bind(identity.KindServiceAccount, "ci", identity.ActionWrite)
	made, err := b.CreateServiceAccountToken(b.T.Context(), b.Ann, "ci", identity.TokenRequest{Name: "t", Scopes: []string{"write"}})
	if err != nil {
		b.T.Fatal(err)
	}
	b.await(made.Secret, authproxy.WriteGroup)
	return made.Secret
}

// session is a credential that a page of bob's has.
func session(b *rightsBed) string {
	writer(b)
	made := b.Login(bob)
	for until := time.Now().Add(rightsLimit); ; {
		who, err := b.AuthenticateSession(b.T.Context(), made.Secret)
		if err != nil {
			b.T.Fatal(err)
		}
		bearer, _, err := b.proxy.Credential(b.T.Context(), who, "edge", time.Hour)
		if err == nil {
			b.await(bearer, authproxy.WriteGroup)
			return bearer
		}
		if !errcode.Is(err, errcode.Forbidden) || time.Now().After(until) {
			b.T.Fatal(err)
		}
	}
}
