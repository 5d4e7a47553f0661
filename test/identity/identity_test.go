package identity_test

import (
	"crypto/ed25519"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

const limit = 60 * time.Second

func TestMain(m *testing.M) { hubtest.Main(m) }

// shifted is the real clock, moved on.
type shifted struct {
	clock.Real
	by atomic.Int64
}

func (s *shifted) Now() time.Time { return s.Real.Now().Add(time.Duration(s.by.Load())) }

func (s *shifted) days(n int) { s.by.Add(int64(n) * int64(24*time.Hour)) }

// bed is a hub and its administrator.
type bed struct {
	*hubtest.Hub
	clock *shifted
	admin identity.Principal
	t     *testing.T
}

func newBed(t *testing.T) *bed {
	b := &bed{clock: &shifted{}, t: t}
	b.Hub = hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{Clock: b.clock}})
	admin, err := b.Parts().Identity.Authenticate(t.Context(), b.AdminToken)
	if err != nil {
		t.Fatal(err)
	}
	b.admin = admin
	return b
}

// again restarts the hub with its data.
func (b *bed) again() {
	b.t.Helper()
	if err := b.Stop(); err != nil {
		b.t.Fatal(err)
	}
	b.Hub = hubtest.New(b.t, hubtest.Config{DataDir: b.DataDir, AdminToken: b.AdminToken, Hub: hubtest.HubConfig{Clock: b.clock}})
}

func (b *bed) bootstrap(r agentkey.BootstrapRequest) string {
	b.t.Helper()
	projects, err := b.Parts().Fleet.Projects(b.t.Context())
	if err != nil || len(projects) == 0 {
		b.t.Fatal(projects, err)
	}
	r.ProjectID, r.Project = projects[0].ID, projects[0].Name
	made, err := b.Parts().AgentKeys.CreateBootstrapToken(b.t.Context(), b.admin, r)
	if err != nil {
		b.t.Fatal(err)
	}
	return made.Secret
}

// folder is an agent's data folder; copying it copies the identity.
type folder struct {
	key       ed25519.PrivateKey
	clusterID string
	uid       string
	keys      map[string]ed25519.PublicKey
}

func newFolder(t *testing.T, uid string) *folder {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &folder{key: key, uid: uid}
}

// agent is one process with a folder.
type agent struct {
	*hubclient.Client
	folder *folder
	boot   string
	t      *testing.T
}

func (b *bed) agent(f *folder, boot string) *agent {
	b.t.Helper()
	return b.agentBy(f, boot, func(direct http.RoundTripper) http.RoundTripper { return direct })
}

// agentBy is an agent that reaches the hub by way of something.
func (b *bed) agentBy(f *folder, boot string, way func(direct http.RoundTripper) http.RoundTripper) *agent {
	b.t.Helper()
	transport, err := hubclient.NewTransport(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(transport.CloseIdleConnections)
	c, err := hubclient.New(hubclient.Config{URL: b.URL, Transport: way(dated{transport, b.clock}), ClusterID: f.clusterID, Keys: f.keys, Clock: b.clock, Attempts: 1})
	if err != nil {
		b.t.Fatal(err)
	}
	return &agent{c, f, boot, b.t}
}

// registration is the part of an agent's registration that does not depend on this
// program.
func (b *bed) registration(t *testing.T, uid string) agentkey.Registration {
	t.Helper()
	f := newFolder(t, uid)
	return agentkey.Registration{
		PublicKey: f.key.Public().(ed25519.PublicKey), ClusterUID: uid, Name: uid, BootID: "boot-1", AgentVersion: "v0",
		Proof: ed25519.Sign(f.key, []byte("axle-register\n"+uid+"\nboot-1")),
	}
}

// dated moves the date of answers on, which the HTTP server takes from the
// machine's own clock and agents set theirs by.
type dated struct {
	http.RoundTripper
	clock *shifted
}

func (d dated) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := d.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Header.Set("Date", d.clock.Now().UTC().Format(http.TimeFormat))
	}
	return answer, err
}

func (a *agent) register(token, name string, tags map[string]string) (*agentv1.RegisterResponse, error) {
	r, err := a.Register(a.t.Context(), token, a.folder.key, &agentv1.RegisterRequest{ClusterUid: a.folder.uid, Name: name, Tags: tags, BootId: a.boot})
	if err == nil {
		a.folder.clusterID, a.folder.keys = r.GetClusterId(), hubclient.Keys(r.GetSigningKeys())
	}
	return r, err
}

func (a *agent) renew() error {
	r, err := a.Renew(a.t.Context(), hubclient.Renewal{ClusterID: a.folder.clusterID, ClusterUID: a.folder.uid, BootID: a.boot, Key: a.folder.key})
	if err == nil {
		a.folder.keys = r.Keys
	}
	return err
}

// recorded waits for records of an action with a result.
func (b *bed) recorded(action, result string, n int) {
	b.t.Helper()
	eventually.For(b.t, limit, fmt.Sprintf("%d records of %s with %s", n, action, result), func() error {
		rows, err := b.Parts().Store.AuditRows(b.t.Context(), audit.Query{Action: action, Result: result})
		if err == nil && len(rows) != n {
			err = fmt.Errorf("%d rows", len(rows))
		}
		return err
	})
}

const (
	registered = "/axle.agent.v1.AgentService/Register"
	renewed    = "/axle.agent.v1.AgentService/Renew"
)

// An agent that was off for months renews with its key, although every signing key
// that it pinned was replaced meanwhile, and accepts lists again. One that was off
// for longer than keys sign their successors does not.
func TestMonthsOfflineComesBack(t *testing.T) {
	b := newBed(t)
	f := newFolder(t, "uid-1")
	a := b.agent(f, "boot-1")
	if _, err := a.register(b.bootstrap(agentkey.BootstrapRequest{}), "edge-1", nil); err != nil {
		t.Fatal(err)
	}
	pinned := f.keys
	rotate := func(days int) {
		t.Helper()
		// The hub may have found a key old and announced the next one by itself.
		if _, err := b.Parts().AgentKeys.RotateSigningKey(t.Context()); err != nil && !errcode.Is(err, errcode.Conflict) {
			t.Fatal(err)
		}
		b.clock.days(days)
	}
	for range 4 {
		rotate(40)
	}
	b.again()
	back := b.agent(f, "boot-2")
	if _, err := back.Desired(t.Context(), ""); err == nil {
		t.Fatal("a list was taken without a token")
	}
	if err := back.renew(); err != nil {
		t.Fatalf("after 160 days: %v", err)
	}
	for id := range pinned {
		if f.keys[id] != nil {
			t.Fatalf("signing key %s is still in force; the test rotates too little", id)
		}
	}
	list, err := back.Desired(t.Context(), "")
	if err != nil {
		t.Fatalf("the list after coming back: %v (%v)", err, list)
	}
	// The folder as it was a year and a half ago knows no key that vouches.
	old := &folder{key: f.key, clusterID: f.clusterID, uid: f.uid, keys: pinned}
	for range 3 {
		rotate(180)
	}
	b.again()
	if err := b.agent(old, "boot-3").renew(); !errcode.Is(err, errcode.Forbidden) {
		t.Errorf("keys that nobody vouches for: %v", err)
	}
}

// caughtUp waits until the hub's feed has what was committed.
func (b *bed) caughtUp() {
	b.t.Helper()
	at, err := b.Parts().Store.Position(b.t.Context())
	if err == nil {
		err = b.Parts().Feed.WaitFor(b.t.Context(), at)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestClonedIdentityIsRefused(t *testing.T) {
	b := newBed(t)
	many := b.bootstrap(agentkey.BootstrapRequest{MaxUses: 5, Approved: true})
	f := newFolder(t, "uid-1")
	a := b.agent(f, "boot-1")
	if _, err := a.register(many, "edge-1", nil); err != nil {
		t.Fatal(err)
	}
	b.recorded(registered, "ok", 1)

	// The Secret in a second cluster, renewing and registering.
	other := *f
	other.uid = "uid-2"
	clone := b.agent(&other, "boot-9")
	if err := clone.renew(); !errcode.Is(err, errcode.Conflict) {
		t.Errorf("a renewal from another cluster: %v", err)
	}
	// The answer to the renewal has the position of its own commit. A registration waits
	// for nothing, so one that comes before the feed knows the commit is answered with an
	// older position, and an agent drops that answer and asks again.
	b.caughtUp()
	if _, err := clone.register(many, "edge-2", nil); !errcode.Is(err, errcode.Conflict) {
		t.Errorf("a registration from another cluster: %v", err)
	}
	b.recorded(renewed, "conflict", 1)
	b.recorded(registered, "conflict", 1)
	shown := func() string {
		c, err := b.Parts().Fleet.Cluster(t.Context(), "edge-1")
		if err != nil {
			t.Fatal(err)
		}
		return c.Message
	}
	if shown() == "" {
		t.Error("the cluster does not say that its key was seen elsewhere")
	}
	if err := a.renew(); err != nil {
		t.Errorf("the first agent: %v", err)
	}

	// A copy of the folder runs besides the first agent: it looks like a restart, and
	// is detected when the first one polls again.
	same := *f
	second := b.agent(&same, "boot-2")
	if err := second.renew(); err != nil {
		t.Fatalf("a restart: %v", err)
	}
	if err := a.renew(); !errcode.Is(err, errcode.Conflict) {
		t.Errorf("two agents in turns: %v", err)
	}
	b.recorded(renewed, "conflict", 2)

	// A copy without the key signs nothing.
	stolen := *f
	stolen.key = newFolder(t, "").key
	if err := b.agent(&stolen, "boot-2").renew(); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("another key: %v", err)
	}
}

// Each limit of a bootstrap token holds at the registration itself.
func TestBootstrapLimitsHoldAtRegistration(t *testing.T) {
	b := newBed(t)
	tests := map[string]struct {
		token agentkey.BootstrapRequest
		name  string
		tags  map[string]string
		days  int
		want  errcode.Code
	}{
		"allowed":               {agentkey.BootstrapRequest{NamePattern: "edge-*", AllowedTags: map[string]string{"site": "*", "tier": "dev"}}, "edge-1", map[string]string{"site": "x", "tier": "dev"}, 0, ""},
		"another name":          {agentkey.BootstrapRequest{NamePattern: "edge-*"}, "prod-1", nil, 0, errcode.Forbidden},
		"a tag outside":         {agentkey.BootstrapRequest{AllowedTags: map[string]string{"site": "*"}}, "edge-2", map[string]string{"tier": "prod"}, 0, errcode.Forbidden},
		"another value":         {agentkey.BootstrapRequest{AllowedTags: map[string]string{"tier": "dev"}}, "edge-3", map[string]string{"tier": "prod"}, 0, errcode.Forbidden},
		"a tag without a list":  {agentkey.BootstrapRequest{}, "edge-4", map[string]string{"tier": "prod"}, 0, errcode.Forbidden},
		"the name of a cluster": {agentkey.BootstrapRequest{}, "taken", nil, 0, errcode.Conflict},
	}
	if _, err := b.agent(newFolder(t, "uid-taken"), "boot-1").register(b.bootstrap(agentkey.BootstrapRequest{}), "taken", nil); err != nil {
		t.Fatal(err)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := b.agent(newFolder(t, "uid-"+name), "boot-1").register(b.bootstrap(tc.token), tc.name, tc.tags)
			if (tc.want == "" && err != nil) || (tc.want != "" && !errcode.Is(err, tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if tc.want != "" && tc.name != "taken" {
				if _, err := b.Parts().Fleet.Cluster(t.Context(), tc.name); !errcode.Is(err, errcode.NotFound) {
					t.Errorf("the cluster was made: %v", err)
				}
			}
		})
	}
	once := b.bootstrap(agentkey.BootstrapRequest{})
	if _, err := b.agent(newFolder(t, "uid-a"), "boot-1").register(once, "once-a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.agent(newFolder(t, "uid-b"), "boot-1").register(once, "once-b", nil); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("a second use: %v", err)
	}
	many := b.bootstrap(agentkey.BootstrapRequest{MaxUses: 2})
	r, err := b.agent(newFolder(t, "uid-c"), "boot-1").register(many, "many-a", nil)
	if err != nil || !r.GetPending() {
		t.Errorf("a token for two: %v, pending %t", err, r.GetPending())
	}
	late := b.bootstrap(agentkey.BootstrapRequest{})
	b.clock.days(2)
	if _, err := b.agent(newFolder(t, "uid-d"), "boot-1").register(late, "late", nil); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("after its day: %v", err)
	}
}
