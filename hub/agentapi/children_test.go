package agentapi_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/api/agent/v1/agentv1connect"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// make makes a cluster on a management cluster, as a template does, and returns the id of
// the service that makes it.
func (b *bed) make(name string, on *agent) (serviceID string) {
	b.t.Helper()
	ctx, place := b.t.Context(), "cluster-"+name
	_, err := b.Parts().Fleet.MakeCluster(ctx, admin.Name, fleet.MadeCluster{
		NewCluster: fleet.NewCluster{Name: name, Project: "shop", Tags: map[string]string{"tier": "prod"}, FleetWide: true}, ManagementID: on.cluster,
		Origin:  fleet.Origin{TemplateID: "ctp_a", Template: "eks", Commit: "c", Version: "v1.37.0", Variables: "{}"},
		Builtin: fleet.Builtin{Name: place, Namespace: place, Version: "c", Digest: "axle1:" + strings.Repeat("a", 64), Size: 9, Contained: true},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	v, err := b.Parts().Fleet.Service(ctx, fleet.Ref{Cluster: on.name, Name: place})
	if err != nil {
		b.t.Fatal(err)
	}
	return v.ID
}

// child asks what connects the cluster that a service makes.
func (a *agent) child(serviceID string) (*agentv1.Child, error) {
	resp, err := a.calls().EnrollChild(a.t.Context(), withToken(a, &agentv1.EnrollChildRequest{BootId: a.boot, ServiceId: serviceID}))
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

// tokenIn is the bootstrap token in the agent's manifests.
func tokenIn(t *testing.T, manifests string) string {
	t.Helper()
	_, rest, found := strings.Cut(manifests, "\n  token: ")
	text, _, _ := strings.Cut(rest, "\n")
	token, err := base64.StdEncoding.DecodeString(text)
	if !found || err != nil {
		t.Fatalf("the manifests have no token: %v", err)
	}
	return string(token)
}

// A cluster that a service makes is connected by the agent of its management cluster, and by
// no other, until one has registered. What it is, is in its row.
func TestAManagementClusterConnectsWhatItMakes(t *testing.T) {
	b := newBed(t)
	ctx := t.Context()
	if _, err := b.Parts().Fleet.CreateProject(ctx, admin.Name, fleet.NewProject{Name: "shop"}); err != nil {
		t.Fatal(err)
	}
	mgmt, other := b.register("hosts"), b.register("other")
	service, leaving := b.make("shop-1", mgmt), b.make("shop-2", mgmt)
	ordinary := b.declare("hosts", "web", "web").ID

	// The agent learns from the spec which service makes a cluster, and of no other.
	specs, err := mgmt.calls().Services(ctx, withToken(mgmt, &agentv1.ServicesRequest{Ids: []string{service, ordinary}}))
	if err != nil {
		t.Fatal(err)
	}
	makes := map[string]string{}
	for _, s := range specs.Msg.GetServices() {
		makes[s.GetId()] = s.GetMakesCluster()
	}
	if makes[service] != "shop-1" || makes[ordinary] != "" || len(makes) != 2 {
		t.Errorf("the services make %v", makes)
	}

	refused := func(what string, by *agent, service, want string, code errcode.Code) {
		t.Helper()
		_, err := by.child(service)
		if err == nil || !strings.Contains(err.Error(), want) || connect.CodeOf(err) != connect.Code(errcode.RPCCode(code)) {
			t.Errorf("%s: %v, want %s with %q", what, err, code, want)
		}
	}
	const none = "makes no cluster on this one"
	refused("another cluster", other, service, none, errcode.NotFound)
	refused("an ordinary service", mgmt, ordinary, none, errcode.NotFound)
	refused("no service", mgmt, "svc-none", none, errcode.NotFound)
	refused("a cluster that waits for approval", b.registerPending("late"), service, "waits for a person's approval", errcode.Forbidden)
	if _, err := b.Parts().Fleet.DestroyCluster(ctx, admin.Name, "shop-2", false); err != nil {
		t.Fatal(err)
	}
	refused("one that is being destroyed", mgmt, leaving, "is being destroyed", errcode.Conflict)

	first, err := mgmt.child(service)
	if err != nil {
		t.Fatal(err)
	}
	if first.GetName() != "shop-1" || first.GetClusterId() != mgmt.cluster || first.GetServiceId() != service || first.GetExpiresAt() == 0 {
		t.Errorf("it connects %s for %s of %s until %d", first.GetName(), first.GetServiceId(), first.GetClusterId(), first.GetExpiresAt())
	}
	second, err := mgmt.child(service) // the first answer was lost
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.tryRegister("shop-1", tokenIn(t, first.GetManifests()), nil); err == nil {
		t.Error("the token of an answer that was replaced registers")
	}
	token := tokenIn(t, second.GetManifests())
	if bootstrap.Secret(token) == token {
		t.Error("the token does not name the hub's key")
	}
	if _, err := b.tryRegister("shop-1", token, map[string]string{"tier": "lab"}); err == nil {
		t.Error("the agent chose a tag")
	}
	if _, err := b.tryRegister("edge", token, nil); err != nil {
		t.Fatal(err)
	}
	v, err := b.Parts().Fleet.Cluster(ctx, "shop-1")
	if err != nil || !v.Registered() || v.Project != "shop" || v.Tags["tier"] != "prod" || v.Pending {
		t.Errorf("the cluster is %+v, %v", v.Cluster, err)
	}
	refused("one that is connected", mgmt, service, "is connected already", errcode.Conflict)

	var found []string
	eventually.For(t, limit, "the audit log", func() error {
		rows, err := b.Parts().Store.AuditRows(ctx, audit.Query{Action: agentv1connect.AgentServiceEnrollChildProcedure})
		if err != nil {
			return err
		}
		found = nil
		for _, row := range rows {
			r, err := row.Open()
			if err != nil {
				return err
			}
			found = append(found, r.Actor+" "+r.Name+" "+r.Result)
		}
		if len(rows) != 8 {
			return fmt.Errorf("%q", found)
		}
		return nil
	})
	slices.Sort(found)
	want := []string{
		"agent of hosts  not_found", "agent of hosts  not_found", "agent of hosts shop-1 conflict", "agent of hosts shop-1 ok", "agent of hosts shop-1 ok",
		"agent of hosts shop-2 conflict", "agent of late  forbidden", "agent of other  not_found",
	}
	if !slices.Equal(found, want) {
		t.Errorf("the audit log has %q, want %q", found, want)
	}
}

// The agent of a cluster that is being destroyed learns it from its signed list, in which
// everything is paused, and its machines go once it has reported that nothing is left.
func TestAClusterIsCleanedUpByItsOwnAgent(t *testing.T) {
	b := newBed(t)
	ctx := t.Context()
	if _, err := b.Parts().Fleet.CreateProject(ctx, admin.Name, fleet.NewProject{Name: "shop"}); err != nil {
		t.Fatal(err)
	}
	mgmt, other := b.register("hosts"), b.register("other")
	child, err := mgmt.child(b.make("shop-1", mgmt))
	if err != nil {
		t.Fatal(err)
	}
	own, err := b.tryRegister("shop-1", tokenIn(t, child.GetManifests()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Parts().Fleet.PutBuiltin(ctx, own.cluster, fleet.Builtin{Name: "web", Namespace: "web", Version: "c", Digest: "axle1:" + strings.Repeat("a", 64), Size: 9}); err != nil {
		t.Fatal(err)
	}
	var before string
	polls := func(a *agent, destroying bool) {
		t.Helper()
		eventually.For(t, limit, "the list", func() error {
			list, etag, err := a.tryPoll()
			if err != nil {
				return err
			}
			if len(list.GetServices()) == 0 || list.GetDestroying() != destroying || etag == before {
				return fmt.Errorf("%v, %s", list, etag)
			}
			for _, s := range list.GetServices() {
				if s.GetPaused() != destroying {
					return fmt.Errorf("%v", s)
				}
			}
			before = etag
			return nil
		})
	}
	polls(own, false)
	if _, err := b.Parts().Fleet.DestroyCluster(ctx, admin.Name, "shop-1", false); err != nil {
		t.Fatal(err)
	}
	polls(own, true)
	report := func(a *agent, r *agentv1.ReportCleanupRequest) {
		t.Helper()
		r.BootId = a.boot
		if _, err := a.calls().ReportCleanup(ctx, withToken(a, r)); err != nil {
			t.Fatal(err)
		}
	}
	cleanup := func() *fleet.Cleanup {
		t.Helper()
		c, err := b.Parts().Fleet.ClusterNamed(ctx, "shop-1")
		if err != nil {
			t.Fatal(err)
		}
		return c.Cleanup
	}
	report(own, &agentv1.ReportCleanupRequest{Left: []*agentv1.CleanupObject{{Kind: "Service", Namespace: "web", Name: "front", Message: "waits for a finalizer", Since: 7}}, More: 2, Message: "cannot list gateways"})
	// A report is about its sender.
	report(mgmt, &agentv1.ReportCleanupRequest{Done: true})
	report(other, &agentv1.ReportCleanupRequest{Done: true})
	want := fleet.Leftover{Kind: "Service", Namespace: "web", Name: "front", Message: "waits for a finalizer", Since: 7}
	if c := cleanup(); !c.Running() || len(c.Left) != 1 || c.Left[0] != want || c.More != 2 || c.Message != "cannot list gateways" {
		t.Errorf("it is %+v", c)
	}
	report(own, &agentv1.ReportCleanupRequest{Done: true})
	service, err := b.Parts().Fleet.Service(ctx, fleet.Ref{Cluster: "hosts", Name: "cluster-shop-1"})
	if err != nil || service.Deleting != fleet.Drain || cleanup().Running() {
		t.Errorf("when it is done: %v, %+v, %v", service.Deleting, cleanup(), err)
	}
}
