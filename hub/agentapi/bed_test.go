package agentapi_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/api/agent/v1/agentv1connect"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// limit is how long anything may take on a loaded machine.
const limit = 60 * time.Second

// admin may do everything.
var admin = identity.Principal{Kind: identity.KindUser, ID: "usr_test", Name: "test@example.com", Admin: true, Scopes: []string{identity.ScopeAdmin}}

// bed is a real hub that follows a real repository.
type bed struct {
	*hubtest.Hub
	git *gitserver.Server
	t   testing.TB
}

func hubConfig() hubtest.HubConfig { return hubtest.HubConfig{AllowHTTPUpstreams: true} }

func newBed(t testing.TB) *bed {
	t.Helper()
	return newBedOn(t, hubConfig())
}

func newBedOn(t testing.TB, config hubtest.HubConfig) *bed {
	t.Helper()
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := git.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{git: git, t: t}
	if err := git.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	b.commit("web", "one")
	b.Hub = hubtest.New(t, hubtest.Config{Hub: config})
	if _, err := b.Parts().Cache.CreateRepository(t.Context(), gitcache.Repository{Name: "fleet", URL: git.URL("fleet")}, gitcache.Credentials{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// commit changes one folder of the repository.
func (b *bed) commit(folder, text string) {
	b.t.Helper()
	file := folder + "/config.yaml"
	body := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + folder + "\ndata:\n  text: " + text + "\n"
	if _, err := b.git.Commit(b.t.Context(), "fleet", "main", "set "+folder+" to "+text, map[string]gitserver.Content{file: body}); err != nil {
		b.t.Fatal(err)
	}
}

// declare puts a service on a cluster.
func (b *bed) declare(cluster, name, folder string) fleet.ServiceView {
	b.t.Helper()
	v, err := b.Parts().Fleet.CreateService(b.t.Context(), admin.Name, fleet.ServiceRequest{
		Ref:  fleet.Ref{Cluster: cluster, Name: name},
		Spec: fleet.Spec{Namespace: "apps", Repository: "fleet", Git: &fleet.Git{Ref: "main", Folder: folder}, Secrets: map[string]string{"password": "hunter2"}},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// agent speaks the protocol by hand.
type agent struct {
	t       testing.TB
	origin  string
	cluster string
	name    string
	token   string
	boot    string
	keys    map[string]ed25519.PublicKey
	client  *http.Client
}

// register makes a cluster and the agent that registers for it.
func (b *bed) register(name string) *agent {
	b.t.Helper()
	ctx := b.t.Context()
	c, err := b.Parts().Fleet.CreateCluster(ctx, admin.Name, fleet.NewCluster{Name: name})
	if err != nil {
		b.t.Fatal(err)
	}
	return b.enroll(agentkey.BootstrapRequest{ClusterID: c.ID, ClusterName: c.Name}, name, "")
}

// registerPending registers an agent whose cluster nobody created or approved.
func (b *bed) registerPending(name string) *agent {
	b.t.Helper()
	return b.enroll(agentkey.BootstrapRequest{MaxUses: 2}, name, name)
}

func (b *bed) enroll(terms agentkey.BootstrapRequest, name, wanted string) *agent {
	b.t.Helper()
	ctx := b.t.Context()
	token, err := b.Parts().AgentKeys.CreateBootstrapToken(ctx, admin, terms)
	if err != nil {
		b.t.Fatal(err)
	}
	a, err := b.tryRegister(name, token.Secret, nil, wanted)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// tryRegister registers an agent with a bootstrap token, which may fix the name.
func (b *bed) tryRegister(name, token string, tags map[string]string, wanted ...string) (*agent, error) {
	ctx := b.t.Context()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &agent{t: b.t, origin: b.URL, boot: "boot-1", name: name, keys: map[string]ed25519.PublicKey{}, client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	uid := "uid-" + name
	req := connect.NewRequest(&agentv1.RegisterRequest{
		Name: strings.Join(wanted, ""), Tags: tags, PublicKey: public, ClusterUid: uid, BootId: a.boot, AgentVersion: "v0", ProtocolVersion: 1,
		Proof: ed25519.Sign(private, []byte("axle-register\n"+uid+"\n"+a.boot)),
	})
	req.Header().Set("Authorization", "Bearer "+token)
	resp, err := a.calls().Register(ctx, req)
	if err != nil {
		return nil, err
	}
	a.cluster, a.token = resp.Msg.GetClusterId(), resp.Msg.GetDeployToken()
	// An agent sends the answer's position with its first poll; a hand-written
	// request may not, so this replica has everything that was made before the
	// poll.
	at, err := event.ParsePosition(resp.Header().Get("Axle-Position"))
	if err == nil {
		err = b.Parts().Feed.WaitFor(ctx, at)
	}
	if err != nil {
		return nil, err
	}
	for _, k := range resp.Msg.GetSigningKeys() {
		a.keys[k.GetId()] = ed25519.PublicKey(k.GetPublicKey())
	}
	return a, nil
}

func (a *agent) calls() agentv1connect.AgentServiceClient {
	return agentv1connect.NewAgentServiceClient(a.client, a.origin)
}

// answer is a plain HTTP answer, read whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// get makes a request with headers given in pairs, and retries like an agent
// when the hub says so: on a busy machine a replica may not have caught up
// within its 2 s.
func (a *agent) get(path string, headers ...string) answer {
	a.t.Helper()
	var got answer
	eventually.For(a.t, limit, "an answer to "+path, func() (err error) {
		if got, err = a.tryGet(path, headers...); err == nil && got.status == http.StatusServiceUnavailable {
			return fmt.Errorf("status %d: %s", got.status, got.body)
		}
		return err
	})
	return got
}

func (a *agent) tryGet(path string, headers ...string) (answer, error) {
	return a.send(http.MethodGet, path, headers...)
}

// send makes one request; what is posted is an empty message.
func (a *agent) send(method, path string, headers ...string) (answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.t.Context()), limit)
	defer cancel()
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("{}")
	}
	req, err := http.NewRequestWithContext(ctx, method, a.origin+path, body)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, text}, errors.Join(err, resp.Body.Close())
}

// poll returns the list, whose signature it verifies, and its etag.
func (a *agent) poll() (*agentv1.Desired, string) {
	a.t.Helper()
	list, etag, err := a.tryPoll()
	if err != nil {
		a.t.Fatal(err)
	}
	return list, etag
}

func (a *agent) tryPoll() (*agentv1.Desired, string, error) {
	got, err := a.tryGet("/agent/v1/desired")
	if err != nil {
		return nil, "", err
	}
	if got.status != http.StatusOK {
		return nil, "", fmt.Errorf("status %d: %s", got.status, got.body)
	}
	var signed agentv1.SignedDesired
	if err := proto.Unmarshal(got.body, &signed); err != nil {
		return nil, "", err
	}
	key := a.keys[signed.GetKeyId()]
	if key == nil || !ed25519.Verify(key, append([]byte("axle-desired\n"), signed.GetDesired()...), signed.GetSignature()) {
		return nil, "", fmt.Errorf("the signature by key %q is not good", signed.GetKeyId())
	}
	var list agentv1.Desired
	return &list, got.header.Get("Etag"), proto.Unmarshal(signed.GetDesired(), &list)
}

// waitFor polls until the list is as wanted.
func (a *agent) waitFor(what string, is func(*agentv1.Desired) error) *agentv1.Desired {
	a.t.Helper()
	var list *agentv1.Desired
	if err := eventually.Wait(a.t.Context(), limit, func() (err error) {
		if list, _, err = a.tryPoll(); err != nil {
			return err
		}
		return is(list)
	}); err != nil {
		a.t.Fatalf("%s: %v", what, err)
	}
	return list
}

// waitForServices waits until the list has n services.
func (a *agent) waitForServices(n int) *agentv1.Desired {
	a.t.Helper()
	return a.waitFor("all services are listed", func(list *agentv1.Desired) error {
		if len(list.GetServices()) != n {
			return fmt.Errorf("%d services, want %d", len(list.GetServices()), n)
		}
		return nil
	})
}

// produced waits until all n services have a tarball.
func (a *agent) produced(n int) *agentv1.Desired {
	a.t.Helper()
	return a.waitFor("tarballs are named", func(list *agentv1.Desired) error {
		if len(list.GetServices()) != n {
			return fmt.Errorf("%d services, want %d", len(list.GetServices()), n)
		}
		for _, s := range list.GetServices() {
			if s.GetTarballDigest() == "" {
				return fmt.Errorf("service %s has no tarball", s.GetName())
			}
		}
		return nil
	})
}

func withToken[T any](a *agent, m *T) *connect.Request[T] {
	req := connect.NewRequest(m)
	req.Header().Set("Authorization", "Bearer "+a.token)
	return req
}

// report sends one status on a base.
func (a *agent) report(service, base string, status *agentv1.ServiceStatus, more ...func(*agentv1.ReportRequest)) (*agentv1.ReportResponse, string) {
	a.t.Helper()
	raw, err := proto.Marshal(status)
	if err != nil {
		a.t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	hash := hex.EncodeToString(sum[:])
	m := &agentv1.ReportRequest{BootId: a.boot, Services: []*agentv1.ServiceReport{{ServiceId: service, BaseHash: base, NewHash: hash, Status: raw}}}
	for _, change := range more {
		change(m)
	}
	resp, err := a.calls().Report(a.t.Context(), withToken(a, m))
	if err != nil {
		a.t.Fatal(err)
	}
	return resp.Msg, hash
}
