package console_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/internal/errcode"
)

// managedCall makes a call as a manager; the answer's manager is nil for a deletion.
type managedCall func(*hubv1.Management) (*hubv1.Manager, error)

// calling is a call whose request gets the management, and whose answer shows a manager.
func calling[Q, A any](t *testing.T, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q, of func(*A) *hubv1.Manager) managedCall {
	return func(m *hubv1.Management) (*hubv1.Manager, error) {
		request := proto.Clone(any(q).(proto.Message))
		fields := request.ProtoReflect()
		fields.Set(fields.Descriptor().Fields().ByName("management"), protoValue(m))
		answer, err := call(t.Context(), connect.NewRequest(any(request).(*Q)))
		if err != nil || of == nil {
			return nil, err
		}
		return of(answer.Msg), nil
	}
}

// declared are the objects of access, sources and settings whose rows have managers.
type declared struct {
	// says is the object in an error.
	says string
	// create is refused for a name that exists, and takes the object over if asked to.
	create managedCall
	// update is nil where nothing can be changed; again leaves the object as it is.
	update, delete managedCall
}

// access returns an object of each kind, in the order in which they need each other.
func (b *bed) declaredAccess(t *testing.T) []declared {
	c, auth := http.DefaultClient, signedIn(b.AdminToken)
	users, groups := hubv1connect.NewUsersClient(c, b.URL, auth), hubv1connect.NewGroupsClient(c, b.URL, auth)
	accounts, bindings := hubv1connect.NewServiceAccountsClient(c, b.URL, auth), hubv1connect.NewBindingsClient(c, b.URL, auth)
	trusts, providers := hubv1connect.NewFederationClient(c, b.URL, auth), hubv1connect.NewProvidersClient(c, b.URL, auth)
	webhooks, hub := hubv1connect.NewWebhooksClient(c, b.URL, auth), hubv1connect.NewHubClient(c, b.URL, auth)
	windows := func(schedule ...string) *hubv1.SyncWindowList {
		out := &hubv1.SyncWindowList{}
		for _, s := range schedule {
			out.SyncWindows = append(out.SyncWindows, &hubv1.SyncWindow{Kind: "deny", Schedule: s, Duration: "1h"})
		}
		return out
	}
	window := func(schedule ...string) managedCall {
		return calling(t, hub.SetSyncWindows, windows(schedule...), (*hubv1.SyncWindowList).GetManagedBy)
	}
	first := func(l *hubv1.ListBindingsResponse) *hubv1.Manager {
		if len(l.GetBindings()) == 0 {
			return nil
		}
		return l.GetBindings()[0].GetManagedBy()
	}
	bind := hubv1.CreateBindingRequest{SubjectKind: "group", Subject: "web", Actions: []string{"read"}, Place: &hubv1.Place{Project: "default"}}
	provider := &hubv1.Provider{Name: "okta", Issuer: "https://okta.example.com", ClientId: "axle"}
	limits := func(kinds ...string) managedCall {
		return calling(t, b.projects.Update, &hubv1.UpdateProjectRequest{Name: "default", Limits: &hubv1.ProjectLimits{Kinds: kinds}}, (*hubv1.Project).GetLimitsManagedBy)
	}
	admin := func(is bool) managedCall {
		return calling(t, users.SetAdmin, &hubv1.SetAdminRequest{Name: "ann@example.com", Admin: is}, (*hubv1.User).GetAdminManagedBy)
	}
	return []declared{
		{"user ann@example.com", calling(t, users.Create, &hubv1.CreateUserRequest{Email: "ann@example.com"}, func(r *hubv1.CreateUserResponse) *hubv1.Manager { return r.GetUser().GetManagedBy() }), nil,
			calling(t, users.Delete, &hubv1.DeleteUserRequest{Name: "ann@example.com"}, nil)},
		{"administrator ann@example.com", admin(true), nil, admin(false)},
		{"group web", calling(t, groups.Create, &hubv1.CreateGroupRequest{Name: "web"}, (*hubv1.Group).GetManagedBy), nil, calling(t, groups.Delete, &hubv1.DeleteGroupRequest{Name: "web"}, nil)},
		{"ann@example.com in group web", calling(t, groups.AddMember, &hubv1.AddMemberRequest{Group: "web", User: "ann@example.com"}, func(g *hubv1.Group) *hubv1.Manager { return g.GetMember()[0].GetManagedBy() }), nil,
			calling(t, groups.RemoveMember, &hubv1.RemoveMemberRequest{Group: "web", User: "ann@example.com"}, nil)},
		{"service account ci", calling(t, accounts.Create, &hubv1.CreateServiceAccountRequest{Name: "ci"}, (*hubv1.ServiceAccount).GetManagedBy), nil,
			calling(t, accounts.Delete, &hubv1.DeleteServiceAccountRequest{Name: "ci"}, nil)},
		{"read on project default of group web", calling(t, bindings.Create, &bind, first), nil,
			calling(t, bindings.Delete, &hubv1.DeleteBindingRequest{SubjectKind: "group", Subject: "web", Actions: bind.Actions, Place: bind.Place}, nil)},
		{"trust ci", calling(t, trusts.Create, &hubv1.CreateTrustRequest{Name: "ci", Issuer: "https://ci.example.com", Audience: "axle", Account: "ci", Claims: map[string]string{"sub": "main"}}, (*hubv1.Trust).GetManagedBy), nil,
			calling(t, trusts.Delete, &hubv1.DeleteTrustRequest{Name: "ci"}, nil)},
		{"login provider okta", calling(t, providers.Create, &hubv1.CreateProviderRequest{Provider: provider, ClientSecret: "s"}, (*hubv1.Provider).GetManagedBy),
			calling(t, providers.Update, &hubv1.UpdateProviderRequest{Provider: &hubv1.Provider{Name: "okta", Title: "Work"}, Set: []string{"title"}}, (*hubv1.Provider).GetManagedBy),
			calling(t, providers.Delete, &hubv1.DeleteProviderRequest{Name: "okta"}, nil)},
		{"webhook push", calling(t, webhooks.Create, &hubv1.CreateWebhookRequest{Name: "push", Provider: "github", Secret: strings.Repeat("s", 16)}, func(w *hubv1.CreatedWebhook) *hubv1.Manager { return w.GetWebhook().GetManagedBy() }), nil,
			calling(t, webhooks.Delete, &hubv1.DeleteWebhookRequest{Name: "push"}, nil)},
		{"the hub's list of sync windows", window("0 1 * * *"), window("0 2 * * *"), window()},
		{"the list of limits of project default", limits("ConfigMap"), limits("Secret"), limits()},
	}
}

// TestObjectsOfAccessHaveManagers walks what each object does with another manager's
// writes: a change and a deletion are refused, taking over is not.
func TestObjectsOfAccessHaveManagers(t *testing.T) {
	b := newBed(t)
	all := b.declaredAccess(t)
	const says = " is managed by Terraform (manager default)"
	other := &hubv1.Manager{Tool: "apply", Id: "fleet"}
	for _, o := range all {
		got, err := o.create(by(terraform))
		if err != nil || !proto.Equal(got, terraform) {
			t.Fatalf("%s: created by %v: %v", o.says, got, err)
		}
		for _, who := range []*hubv1.Manager{people, other} {
			for what, call := range map[string]managedCall{"change": o.update, "deletion": o.delete} {
				if call == nil {
					continue
				}
				if _, err := call(by(who)); connect.CodeOf(err) != connect.CodeAborted || !strings.Contains(err.Error(), o.says+says) || !proto.Equal(managerIn(err), terraform) {
					t.Errorf("%s: %s by %v: %v", o.says, what, who, err)
				}
			}
		}
		take := o.create
		if o.update != nil {
			take = o.update
		}
		if got, err := take(takingOver(other)); err != nil || !proto.Equal(got, other) {
			t.Errorf("%s: taken over by %v: %v", o.says, got, err)
		}
		if got, err := take(takingOver(terraform)); err != nil || !proto.Equal(got, terraform) {
			t.Errorf("%s: taken back by %v: %v", o.says, got, err)
		}
	}
	for i := len(all) - 1; i >= 0; i-- {
		if _, err := all[i].delete(by(terraform)); err != nil {
			t.Errorf("%s: its manager deletes it: %v", all[i].says, err)
		}
	}
}

// The manager of a project and that of its limits are two: neither can change what the
// other declares, and both can write at once.
func TestProjectAndItsLimitsHaveTwoManagers(t *testing.T) {
	b := newBed(t)
	must(t, b.projects.Create, &hubv1.CreateProjectRequest{Name: "web", Management: by(terraform)})
	limits := &hubv1.ProjectLimits{Namespaces: []string{"web"}}
	have := must(t, b.projects.Update, &hubv1.UpdateProjectRequest{Name: "web", Limits: limits, Management: by(people)})
	if !proto.Equal(have.GetManagedBy(), terraform) || !proto.Equal(have.GetLimitsManagedBy(), people) {
		t.Errorf("managers %v and %v", have.GetManagedBy(), have.GetLimitsManagedBy())
	}
	refused(t, b.projects.Update, &hubv1.UpdateProjectRequest{Name: "web", Limits: &hubv1.ProjectLimits{}, Management: by(terraform)}, errcode.Conflict, "the list of limits of project web")
	refused(t, b.projects.Update, &hubv1.UpdateProjectRequest{Name: "web", Description: new("x"), Management: by(people)}, errcode.Conflict, "project web is managed by Terraform")
	have = must(t, b.projects.Update, &hubv1.UpdateProjectRequest{Name: "web", Description: new("declared"), Management: takingOver(terraform)})
	if !proto.Equal(have.GetLimitsManagedBy(), people) || len(have.GetLimits().GetNamespaces()) != 1 {
		t.Errorf("the description changed the limits: %v", have)
	}
	// Without limits nobody manages them.
	have = must(t, b.projects.Update, &hubv1.UpdateProjectRequest{Name: "web", Limits: &hubv1.ProjectLimits{}, Management: by(people)})
	if have.GetLimitsManagedBy() != nil {
		t.Errorf("no limits, managed by %v", have.GetLimitsManagedBy())
	}
}

// A declared version of the agents is not replaced by people without their saying so.
func TestUpgradeOfAgentsHasAManager(t *testing.T) {
	b := newBed(t)
	agents := hubv1connect.NewAgentsClient(http.DefaultClient, b.URL, signedIn(b.AdminToken))
	have := must(t, agents.StartUpgrade, &hubv1.StartUpgradeRequest{Version: "v1.2.3", Management: by(terraform)})
	if !proto.Equal(have.GetManagedBy(), terraform) {
		t.Errorf("managed by %v", have.GetManagedBy())
	}
	refused(t, agents.StartUpgrade, &hubv1.StartUpgradeRequest{Version: "v1.2.4", Management: by(people)}, errcode.Conflict, "the upgrade of the agents is managed by Terraform")
	have = must(t, agents.StartUpgrade, &hubv1.StartUpgradeRequest{Version: "v1.2.4", Management: takingOver(people)})
	if !proto.Equal(have.GetManagedBy(), people) || have.GetVersion() != "v1.2.4" {
		t.Errorf("taken over: %v", have)
	}
}

func protoValue(m *hubv1.Management) protoreflect.Value {
	return protoreflect.ValueOfMessage(m.ProtoReflect())
}
