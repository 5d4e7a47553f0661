package agentapi_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/api/agent/v1/agentv1connect"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// found asks what connects a cluster that others made.
func (a *agent) found(f *agentv1.FoundCluster) (*agentv1.Child, error) {
	resp, err := a.calls().EnrollChild(a.t.Context(), withToken(a, &agentv1.EnrollChildRequest{BootId: a.boot, Found: f}))
	if err != nil {
		return nil, err
	}
	key := a.keys[resp.Msg.GetKeyId()]
	if key == nil || !ed25519.Verify(key, append([]byte("axle-child\n"), resp.Msg.GetChild()...), resp.Msg.GetSignature()) {
		return nil, fmt.Errorf("the signature by key %q is not good", resp.Msg.GetKeyId())
	}
	var child agentv1.Child
	return &child, proto.Unmarshal(resp.Msg.GetChild(), &child)
}

// allowing makes a bootstrap token.
func (b *bed) allowing(r agentkey.BootstrapRequest) identity.CreatedToken {
	b.t.Helper()
	made, err := b.Parts().AgentKeys.CreateBootstrapToken(b.t.Context(), admin, r)
	if err != nil {
		b.t.Fatal(err)
	}
	return made
}

// wantRefused fails unless a call was refused with a code and a text.
func wantRefused(t *testing.T, what string, err error, code errcode.Code, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || connect.CodeOf(err) != connect.Code(errcode.RPCCode(code)) {
		t.Errorf("%s: %v, want %s with %q", what, err, code, want)
	}
}

// A cluster that others made is connected by the agent of its management cluster with a
// bootstrap token, which decides everything about it. The token stays on the management
// cluster.
func TestAClusterThatOthersMadeIsConnectedByABootstrapToken(t *testing.T) {
	b := newBed(t)
	ctx := t.Context()
	shop, err := b.Parts().Fleet.CreateProject(ctx, admin.Name, fleet.NewProject{Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	mgmt := b.register("hosts")
	token := b.allowing(agentkey.BootstrapRequest{ProjectID: shop.ID, Project: "shop", NamePattern: "edge-*", AllowedTags: map[string]string{"tier": "edge", "site": "*"}, MaxUses: 2, Approved: true})
	wanted := &agentv1.FoundCluster{BootstrapToken: token.Secret, Uid: "uid-1", Name: "edge-1", Handle: "edge-one", Tags: map[string]string{"tier": "edge", "site": "ham"}}

	first, err := mgmt.found(wanted)
	if err != nil {
		t.Fatal(err)
	}
	if first.GetName() != "edge-1" || first.GetUid() != "uid-1" || first.GetClusterId() != mgmt.cluster || first.GetServiceId() != "" || first.GetId() == "" || first.GetExpiresAt() == 0 {
		t.Errorf("it connects %s (%s) with uid %s of %s until %d", first.GetName(), first.GetId(), first.GetUid(), first.GetClusterId(), first.GetExpiresAt())
	}
	second, err := mgmt.found(wanted) // the first answer was lost
	if err != nil || second.GetId() != first.GetId() {
		t.Fatalf("again it is cluster %s: %v", second.GetId(), err)
	}
	child := tokenIn(t, second.GetManifests())
	if strings.Contains(second.GetManifests(), token.Secret) || child == token.Secret {
		t.Error("the bootstrap token leaves the management cluster")
	}
	if _, err := b.tryRegister("edge-1", tokenIn(t, first.GetManifests()), nil); err == nil {
		t.Error("the token of an answer that was replaced registers")
	}
	if _, err := b.tryRegister("edge-9", child, nil); err != nil { // it says another name, and gets its own
		t.Fatal(err)
	}
	v, err := b.Parts().Fleet.Cluster(ctx, "edge-1")
	if err != nil || v.ID != second.GetId() || !v.Registered() || v.Project != "shop" || v.Pending || v.Handle != "edge-one" || !maps.Equal(v.Tags, wanted.GetTags()) {
		t.Errorf("the cluster is %+v, %v", v.Cluster, err)
	}
	if v.Origin.Known() {
		t.Error("it has machines of the hub's")
	}
	_, err = mgmt.found(wanted)
	wantRefused(t, "one that is connected", err, errcode.Conflict, "is connected already")

	// It took one use of two, whoever asks for the second one first.
	var all sync.WaitGroup
	errs := make([]error, 4)
	for n := range errs {
		all.Go(func() {
			_, errs[n] = mgmt.found(&agentv1.FoundCluster{BootstrapToken: token.Secret, Uid: fmt.Sprint("uid-x", n), Name: fmt.Sprint("edge-x", n)})
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			wantRefused(t, "a token that is used up", err, errcode.Forbidden, "was used up")
		}
	}
	if won != 1 {
		t.Errorf("the last use connects %d clusters: %v", won, errors.Join(errs...))
	}
	if err := b.Parts().Fleet.DeleteCluster(ctx, admin.Name, "hosts", false); err != nil {
		t.Errorf("the management cluster leaves the hub: %v", err)
	}
	eventually.For(t, time.Minute, "the audit log", func() error {
		rows, err := b.Parts().Store.AuditRows(ctx, audit.Query{Action: agentv1connect.AgentServiceEnrollChildProcedure})
		if err != nil || len(rows) != 7 {
			return fmt.Errorf("it has %d rows: %w", len(rows), err)
		}
		for _, row := range rows {
			r, err := row.Open()
			if text := fmt.Sprint(r); err != nil || strings.Contains(text, token.Secret) || !strings.Contains(text, "uid:uid-") || r.Actor != "agent of hosts" {
				t.Errorf("the audit log has %s: %v", text, err)
			}
		}
		return nil
	})
}

// Nobody gets more with a cluster that others made than a bootstrap token allows, and no
// cluster that is somebody else's.
func TestATokenAllowsOnlyWhatItsListHas(t *testing.T) {
	b := newBed(t)
	ctx := t.Context()
	ids := map[string]string{}
	for _, name := range []string{"shop", "guest"} {
		p, err := b.Parts().Fleet.CreateProject(ctx, admin.Name, fleet.NewProject{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = p.ID
	}
	in := func(project string, r agentkey.BootstrapRequest) agentkey.BootstrapRequest {
		r.ProjectID, r.Project = ids[project], project
		if r.NamePattern == "" {
			r.NamePattern = "edge-*"
		}
		return r
	}
	mgmt, other, taken := b.register("hosts"), b.register("other"), b.register("edge-taken")
	shop := b.allowing(in("shop", agentkey.BootstrapRequest{MaxUses: 9, AllowedTags: map[string]string{"tier": "edge"}, Approved: true}))
	guest := b.allowing(in("guest", agentkey.BootstrapRequest{MaxUses: 9, Approved: true}))
	fixed := b.allowing(agentkey.BootstrapRequest{ClusterID: taken.cluster, ClusterName: "edge-taken"})
	revoked := b.allowing(in("shop", agentkey.BootstrapRequest{MaxUses: 9}))
	if err := b.Parts().Identity.RevokeToken(ctx, admin, revoked.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := mgmt.found(&agentv1.FoundCluster{BootstrapToken: shop.Secret, Uid: "uid-1", Name: "edge-1"}); err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		by    *agent
		found *agentv1.FoundCluster
		code  errcode.Code
		want  string
	}{
		"a name that does not match":            {mgmt, &agentv1.FoundCluster{BootstrapToken: shop.Secret, Uid: "uid-2", Name: "prod-1"}, errcode.Forbidden, "does not match"},
		"a handle that does not match":          {mgmt, &agentv1.FoundCluster{BootstrapToken: shop.Secret, Uid: "uid-2", Name: "edge-2", Handle: "prod-1"}, errcode.Forbidden, "does not match"},
		"a tag that is not allowed":             {mgmt, &agentv1.FoundCluster{BootstrapToken: shop.Secret, Uid: "uid-2", Name: "edge-2", Tags: map[string]string{"tier": "prod"}}, errcode.Forbidden, "tag tier=prod is not allowed"},
		"a cluster that exists":                 {mgmt, &agentv1.FoundCluster{BootstrapToken: shop.Secret, Uid: "uid-2", Name: "edge-taken"}, errcode.Conflict, "exists already"},
		"another Cluster of the same name":      {mgmt, &agentv1.FoundCluster{BootstrapToken: shop.Secret, Uid: "uid-2", Name: "edge-1"}, errcode.Conflict, "exists already"},
		"another management cluster's":          {other, &agentv1.FoundCluster{BootstrapToken: shop.Secret, Uid: "uid-1", Name: "edge-1"}, errcode.Conflict, "exists already"},
		"another project's":                     {mgmt, &agentv1.FoundCluster{BootstrapToken: guest.Secret, Uid: "uid-1", Name: "edge-1"}, errcode.Conflict, "exists already"},
		"a token that was revoked":              {mgmt, &agentv1.FoundCluster{BootstrapToken: revoked.Secret, Uid: "uid-2", Name: "edge-2"}, errcode.Forbidden, "is not known, has expired"},
		"no token":                              {mgmt, &agentv1.FoundCluster{Uid: "uid-2", Name: "edge-2"}, errcode.Forbidden, "is not known"},
		"the agent's own token":                 {mgmt, &agentv1.FoundCluster{BootstrapToken: mgmt.token, Uid: "uid-2", Name: "edge-2"}, errcode.Forbidden, "is not known"},
		"a token of one cluster":                {mgmt, &agentv1.FoundCluster{BootstrapToken: fixed.Secret, Uid: "uid-2", Name: "edge-taken"}, errcode.Forbidden, "is for cluster edge-taken only"},
		"a name that is none":                   {mgmt, &agentv1.FoundCluster{BootstrapToken: shop.Secret, Uid: "uid-2", Name: "edge-2.example"}, errcode.Invalid, "name"},
		"no name":                               {mgmt, &agentv1.FoundCluster{BootstrapToken: shop.Secret, Uid: "uid-2"}, errcode.Forbidden, "does not match"},
		"no uid":                                {mgmt, &agentv1.FoundCluster{BootstrapToken: shop.Secret, Name: "edge-2"}, errcode.Invalid, "uid"},
		"a management cluster without approval": {b.registerPending("late"), &agentv1.FoundCluster{BootstrapToken: shop.Secret, Uid: "uid-2", Name: "edge-2"}, errcode.Forbidden, "waits for a person's approval"},
	} {
		_, err := test.by.found(test.found)
		wantRefused(t, what, err, test.code, test.want)
	}
	for _, name := range []string{"edge-2", "prod-1"} {
		if _, err := b.Parts().Fleet.Cluster(ctx, name); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("cluster %s was made: %v", name, err)
		}
	}

	// Without approved, a person lets each cluster in; what a revoked token allowed is over.
	many := b.allowing(in("shop", agentkey.BootstrapRequest{MaxUses: 9}))
	waits, err := mgmt.found(&agentv1.FoundCluster{BootstrapToken: many.Secret, Uid: "uid-3", Name: "edge-3"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.tryRegister("edge-3", tokenIn(t, waits.GetManifests()), nil); err != nil {
		t.Fatal(err)
	}
	if v, err := b.Parts().Fleet.Cluster(ctx, "edge-3"); err != nil || !v.Pending {
		t.Errorf("a cluster of a token with many uses waits for nobody: %v", err)
	}
	late, err := mgmt.found(&agentv1.FoundCluster{BootstrapToken: many.Secret, Uid: "uid-4", Name: "edge-4"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Parts().Identity.RevokeToken(ctx, admin, many.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.tryRegister("edge-4", tokenIn(t, late.GetManifests()), nil); err == nil {
		t.Error("what a token allowed that was revoked since registers a cluster")
	}
}
