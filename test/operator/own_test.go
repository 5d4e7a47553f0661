package operator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
)

// ownKind is one kind of the group axle-cd.github.io, and what its object does.
type ownKind struct {
	object func(name, namespace string) client.Object
	// spec is declared first, changed later; an empty one means that nothing can change.
	spec, changed string
	// heal makes what the object names and the hub did not have: missing is in the
	// condition before.
	missing string
	heal    func(b *bed)
	// has is what the hub has of it, empty for nothing, with its manager.
	has           func(b *bed) (string, *hubv1.Manager)
	want, wantNow string
	// writes are the calls that write.
	writes []string
}

// ownKinds are the kinds whose calls sdk/declare has, in an order in which what one
// heals with is not another's.
func ownKinds(b *bed) map[string]ownKind {
	user := func(b *bed, name string) *hubv1.User {
		for _, u := range ask(b, b.people.Users.List, &hubv1.ListUsersRequest{Name: name}).GetUsers() {
			return u
		}
		return nil
	}
	project := func(b *bed, name string) *hubv1.Project {
		return ask(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: name})
	}
	return map[string]ownKind{
		"User": {
			object: func(n, s string) client.Object { return &axlev1alpha1.User{ObjectMeta: meta1(n, s)} },
			spec:   "{email: ann@example.com}", want: "ann@example.com", writes: []string{"Users/Create"},
			has: func(b *bed) (string, *hubv1.Manager) {
				u := user(b, "ann@example.com")
				return u.GetName(), u.GetManagedBy()
			},
		},
		"AdminGrant": {
			object: func(n, s string) client.Object { return &axlev1alpha1.AdminGrant{ObjectMeta: meta1(n, s)} },
			spec:   "{user: boss@example.com}", want: "true", writes: []string{"Users/SetAdmin"},
			missing: "no user or service account boss@example.com",
			heal:    func(b *bed) { ask(b, b.people.Users.Create, &hubv1.CreateUserRequest{Email: "boss@example.com"}) },
			has: func(b *bed) (string, *hubv1.Manager) {
				u := user(b, "boss@example.com")
				if !u.GetAdmin() {
					return "", nil
				}
				return "true", u.GetAdminManagedBy()
			},
		},
		"GroupMembership": {
			object: func(n, s string) client.Object { return &axlev1alpha1.GroupMembership{ObjectMeta: meta1(n, s)} },
			spec:   "{group: sre, members: [{user: m1@example.com}]}", changed: "{group: sre, members: [{user: m2@example.com}, {serviceAccount: bot}]}",
			want: "m1@example.com", wantNow: "bot m2@example.com", writes: []string{"Groups/AddMember", "Groups/RemoveMember"},
			missing: `group "sre"`,
			heal: func(b *bed) {
				for _, email := range []string{"m1@example.com", "m2@example.com", "by-hand@example.com"} {
					ask(b, b.people.Users.Create, &hubv1.CreateUserRequest{Email: email})
				}
				ask(b, b.people.ServiceAccounts.Create, &hubv1.CreateServiceAccountRequest{Name: "bot"})
				ask(b, b.people.Groups.Create, &hubv1.CreateGroupRequest{Name: "sre"})
				ask(b, b.people.Groups.AddMember, &hubv1.AddMemberRequest{Group: "sre", User: "by-hand@example.com"})
			},
			has: func(b *bed) (string, *hubv1.Manager) {
				var names []string
				var by *hubv1.Manager
				for _, m := range ask(b, b.people.Groups.Get, &hubv1.GetGroupRequest{Name: "sre"}).GetMember() {
					if m.GetManagedBy().GetTool() == "operator" {
						names, by = append(names, m.GetName()), m.GetManagedBy()
					} else if m.GetName() != "by-hand@example.com" {
						b.Errorf("%v was added by others", m)
					}
				}
				slices.Sort(names)
				return strings.Join(names, " "), by
			},
		},
		"AccessBinding": {
			object: func(n, s string) client.Object { return &axlev1alpha1.AccessBinding{ObjectMeta: meta1(n, s)} },
			spec:   "{place: {project: bound}, actions: [read], subjects: [{group: readers}]}", changed: "{place: {project: bound}, actions: [write, git], subjects: [{group: readers}]}",
			want: "read", wantNow: "git write", writes: []string{"Bindings/Create", "Bindings/Delete"},
			missing: `project "bound" does not exist`,
			heal: func(b *bed) {
				ask(b, b.people.Groups.Create, &hubv1.CreateGroupRequest{Name: "readers"})
				ask(b, b.people.Projects.Create, &hubv1.CreateProjectRequest{Name: "bound"})
				ask(b, b.people.Bindings.Create, &hubv1.CreateBindingRequest{SubjectKind: "group", Subject: "readers", Actions: []string{"create"}, Place: &hubv1.Place{Project: "bound"}})
			},
			has: func(b *bed) (string, *hubv1.Manager) {
				var actions []string
				var by *hubv1.Manager
				for _, one := range ask(b, b.people.Bindings.List, &hubv1.ListBindingsRequest{At: &hubv1.Place{Project: "bound"}}).GetBindings() {
					if one.GetManagedBy().GetTool() == "operator" {
						actions, by = append(actions, one.GetAction()), one.GetManagedBy()
					}
				}
				slices.Sort(actions)
				return strings.Join(actions, " "), by
			},
		},
		"LoginProvider": {
			object: func(n, s string) client.Object { return &axlev1alpha1.LoginProvider{ObjectMeta: meta1(n, s)} },
			spec:   "{name: okta, issuer: 'https://okta.example.com', clientId: axle, clientSecretRef: {name: okta, key: secret}}", changed: "{name: okta, title: Work, issuer: 'https://okta.example.com', clientId: axle, clientSecretRef: {name: okta, key: secret}}",
			want: "okta", wantNow: "Work", writes: []string{"Providers/Create", "Providers/Update"},
			missing: "/okta of spec.clientSecretRef does not exist",
			heal:    func(b *bed) { b.secret("okta", b.namespace, map[string]string{"secret": "hunter2"}) },
			has: func(b *bed) (string, *hubv1.Manager) {
				for _, p := range ask(b, b.people.Providers.List, &hubv1.ListProvidersRequest{}).GetProviders() {
					return p.GetTitle(), p.GetManagedBy()
				}
				return "", nil
			},
		},
		"ClusterTemplate": {
			object: func(n, s string) client.Object { return &axlev1alpha1.ClusterTemplate{ObjectMeta: meta1(n, s)} },
			spec:   "{name: eks, repository: templates, ref: v1, folder: eks, kinds: [Cluster.cluster.x-k8s.io]}", changed: "{name: eks, repository: templates, ref: v2, folder: eks, kinds: [Cluster.cluster.x-k8s.io]}",
			want: "v1", wantNow: "v2", writes: []string{"ClusterTemplates/Apply"},
			missing: `repository "templates" does not exist`,
			heal: func(b *bed) {
				ask(b, b.people.Repositories.Create, &hubv1.CreateRepositoryRequest{Name: "templates", Url: "https://git.invalid/templates"})
			},
			has: func(b *bed) (string, *hubv1.Manager) {
				objects, _ := b.people.Objects("ClusterTemplate")
				all, err := objects.List(b.Context(), nil)
				if err != nil {
					b.Fatal(err)
				}
				for _, one := range all {
					t := one.(*hubv1.ClusterTemplate)
					return t.GetSettings().GetRef(), t.GetManagedBy()
				}
				return "", nil
			},
		},
		"Application": {
			object: func(n, s string) client.Object { return &axlev1alpha1.Application{ObjectMeta: meta1(n, s)} },
			spec:   "{name: wiki, project: sold, title: Wiki, public: true}", changed: "{name: wiki, project: sold, title: Knowledge, public: true}",
			want: "Wiki", wantNow: "Knowledge", writes: []string{"Applications/Apply"},
			missing: `project "sold" does not exist`,
			heal:    func(b *bed) { ask(b, b.people.Projects.Create, &hubv1.CreateProjectRequest{Name: "sold"}) },
			has: func(b *bed) (string, *hubv1.Manager) {
				objects, _ := b.people.Objects("Application")
				all, err := objects.List(b.Context(), nil)
				if err != nil {
					b.Fatal(err)
				}
				for _, one := range all {
					a := one.(*hubv1.Application)
					return a.GetSettings().GetTitle(), a.GetManagedBy()
				}
				return "", nil
			},
		},
		"ProjectLimits": {
			object: func(n, s string) client.Object { return &axlev1alpha1.ProjectLimits{ObjectMeta: meta1(n, s)} },
			spec:   "{project: limited, namespaces: [web]}", changed: "{project: limited, namespaces: [web], kinds: [ConfigMap]}",
			want: "web", wantNow: "web ConfigMap", writes: []string{"Projects/Update"},
			missing: `project "limited" does not exist`,
			heal: func(b *bed) {
				ask(b, b.people.Projects.Create, &hubv1.CreateProjectRequest{Name: "limited", Description: "of people"})
			},
			has: func(b *bed) (string, *hubv1.Manager) {
				p := project(b, "limited")
				if p.GetDescription() != "of people" || p.GetManagedBy().GetTool() != "cli" {
					b.Errorf("the limits changed the project: %v", p)
				}
				return strings.TrimSpace(strings.Join(p.GetLimits().GetNamespaces(), " ") + " " + strings.Join(p.GetLimits().GetKinds(), " ")), p.GetLimitsManagedBy()
			},
		},
		"HubSettings": {
			object: func(_, s string) client.Object { return &axlev1alpha1.HubSettings{ObjectMeta: meta1("default", s)} },
			spec:   "{syncWindows: [{kind: deny, schedule: '0 1 * * *', duration: 1h}]}", changed: "{syncWindows: [{kind: deny, schedule: '0 2 * * *', duration: 1h}]}",
			want: "0 1 * * *", wantNow: "0 2 * * *", writes: []string{"Hub/SetSyncWindows"},
			has: func(b *bed) (string, *hubv1.Manager) {
				have := ask(b, b.people.Hub.GetSyncWindows, &hubv1.GetSyncWindowsRequest{})
				for _, w := range have.GetSyncWindows() {
					return w.GetSchedule(), have.GetManagedBy()
				}
				return "", nil
			},
		},
		"Outputs": {
			object: func(n, s string) client.Object { return &axlev1alpha1.Outputs{ObjectMeta: meta1(n, s)} },
			spec:   "{name: vpc, values: {id: one}, secretRef: {name: vpc}}", changed: "{name: vpc, values: {id: two}, secretRef: {name: vpc}}",
			want: `{"id":"one"} password`, wantNow: `{"id":"two"} password`, writes: []string{"Outputs/Put"},
			missing: "/vpc of spec.secretRef does not exist",
			heal:    func(b *bed) { b.secret("vpc", b.namespace, map[string]string{"password": "hunter2"}) },
			has: func(b *bed) (string, *hubv1.Manager) {
				all := ask(b, b.people.Outputs.List, &hubv1.ListOutputsRequest{Name: "vpc"}).GetOutputs()
				if len(all) == 0 {
					return "", nil
				}
				text := all[0].GetValues()
				for key := range all[0].GetSecrets() {
					text += " " + key
				}
				return text, all[0].GetManagedBy()
			},
		},
		"Repository": {
			object: func(n, s string) client.Object { return &axlev1alpha1.Repository{ObjectMeta: meta1(n, s)} },
			spec:   "{name: own, type: git, url: 'https://git.invalid/own', credentialsRef: {name: own}}", changed: "{name: own, type: git, url: 'https://git.invalid/own', credentialsRef: {name: own}, maxBytes: 1048576}",
			want: "https://git.invalid/own basic 0", wantNow: "https://git.invalid/own basic 1048576", writes: []string{"Repositories/Create", "Repositories/Update"},
			missing: "/own of spec.credentialsRef does not exist",
			heal: func(b *bed) {
				b.secret("own", b.namespace, map[string]string{"username": "git", "password": "hunter2"})
			},
			has: func(b *bed) (string, *hubv1.Manager) {
				for _, r := range ask(b, b.people.Repositories.List, &hubv1.ListRepositoriesRequest{}).GetRepositories() {
					if r.GetName() == "own" {
						return fmt.Sprint(r.GetUrl(), " ", r.GetAuth(), " ", r.GetOptions().GetMaxBytes()), r.GetManagedBy()
					}
				}
				return "", nil
			},
		},
		"Webhook": {
			object: func(n, s string) client.Object { return &axlev1alpha1.Webhook{ObjectMeta: meta1(n, s)} },
			spec:   "{name: push, provider: github, repository: hooked, secretRef: {name: push, key: secret}}",
			want:   "github hooked", writes: []string{"Webhooks/Create"},
			missing: "hooked",
			heal: func(b *bed) {
				ask(b, b.people.Repositories.Create, &hubv1.CreateRepositoryRequest{Name: "hooked", Url: "https://git.invalid/hooked"})
			},
			has: func(b *bed) (string, *hubv1.Manager) {
				for _, w := range ask(b, b.people.Webhooks.List, &hubv1.ListWebhooksRequest{}).GetWebhooks() {
					return w.GetProvider() + " " + w.GetRepository(), w.GetManagedBy()
				}
				return "", nil
			},
		},
		"FederationTrust": {
			object: func(n, s string) client.Object { return &axlev1alpha1.FederationTrust{ObjectMeta: meta1(n, s)} },
			spec:   "{name: ci, issuer: 'https://ci.example.com', audience: axle, claims: {sub: main}, serviceAccount: ci, lifetime: 30m}",
			want:   "https://ci.example.com ci 1800000000", writes: []string{"Federation/Create"},
			missing: "service account \"ci\"",
			heal:    func(b *bed) { ask(b, b.people.ServiceAccounts.Create, &hubv1.CreateServiceAccountRequest{Name: "ci"}) },
			has: func(b *bed) (string, *hubv1.Manager) {
				for _, t := range ask(b, b.people.Federation.List, &hubv1.ListTrustsRequest{}).GetTrusts() {
					return fmt.Sprint(t.GetIssuer(), " ", t.GetAccount(), " ", t.GetLifetimeMicros()), t.GetManagedBy()
				}
				return "", nil
			},
		},
	}
}

// of is the bed for a part of a test.
func (b *bed) of(t *testing.T) *bed {
	part := *b
	part.T = t
	return &part
}

func (b *bed) own(kind, name, namespace, spec string) {
	b.Helper()
	b.apply("apiVersion: axle-cd.github.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec: " + spec)
}

// Each kind of our group: what it names is missing and comes, it is made and changed, costs
// no call at rest, a second object for the same only reads, and it is deleted when the
// hub can be reached.
func TestOwnKinds(t *testing.T) {
	whole := newBed(t)
	whole.writable(whole.namespace)
	whole.operate()
	for name, k := range ownKinds(whole) {
		t.Run(name, func(t *testing.T) {
			b := whole.of(t)
			has := func(want string) *hubv1.Manager {
				t.Helper()
				got, by := k.has(b)
				if got != want {
					t.Errorf("the hub has %q, want %q", got, want)
				}
				return by
			}
			o := k.object("first", b.namespace)
			b.own(name, o.GetName(), b.namespace, k.spec)
			if k.missing != "" {
				b.want(o, "Synchronized", "False", "NotFound", k.missing)
				k.heal(b)
			}
			b.synchronized(o)
			byHub(b, has(k.want), "operator", "/"+name+".axle-cd.github.io/"+b.namespace+"/"+o.GetName())
			if f := o.GetFinalizers(); len(f) != 1 || f[0] != "axle-cd.github.io/"+strings.ToLower(name)+"-protection" || statusOf(o).ID == nil {
				t.Errorf("finalizers %q, status %+v", f, statusOf(o))
			}
			b.idle(o)
			wrote := b.gate.count(k.writes...)
			if k.changed != "" {
				b.own(name, o.GetName(), b.namespace, k.changed)
				b.synchronized(o)
				has(k.wantNow)
				if b.gate.count(k.writes...) == wrote {
					t.Errorf("a change wrote nothing: %v", b.gate.since(0))
				}
			} else {
				k.changed, k.wantNow = k.spec, k.want
			}
			if name != "HubSettings" && name != "AccessBinding" && name != "GroupMembership" {
				second := k.object("second", b.namespace)
				b.own(name, "second", b.namespace, k.spec)
				b.want(second, "Readonly", "True", "Readonly", "managed by the operator ("+name+" "+b.namespace+"/"+o.GetName()+")")
				has(k.wantNow)
				b.deleted(second)
				has(k.wantNow)
			}
			b.gate.setDown(true)
			if err := b.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			b.want(o, "Synchronized", "False", "Error", "cannot reach the hub")
			b.gate.setDown(false)
			b.gone(o)
			has("")
		})
	}
}

// What has rows shares its place: of two objects each has the rows that it wrote first,
// and takes only those with it.
func TestBindingsOfTwoObjects(t *testing.T) {
	b := newBed(t)
	ask(b, b.people.Groups.Create, &hubv1.CreateGroupRequest{Name: "web"})
	ask(b, b.people.Groups.Create, &hubv1.CreateGroupRequest{Name: "ops"})
	b.operate()
	rows := func() string {
		var all []string
		for _, one := range ask(b, b.people.Bindings.List, &hubv1.ListBindingsRequest{At: &hubv1.Place{Project: "default"}}).GetBindings() {
			id := one.GetManagedBy().GetId()
			all = append(all, one.GetSubject()+":"+one.GetAction()+":"+id[strings.LastIndex(id, "/")+1:])
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	binding := func(name, actions, subjects string) *axlev1alpha1.AccessBinding {
		b.own("AccessBinding", name, b.namespace, "{place: {project: default}, actions: ["+actions+"], subjects: ["+subjects+"]}")
		return &axlev1alpha1.AccessBinding{ObjectMeta: meta1(name, b.namespace)}
	}
	first := binding("first", "read", "{group: web}")
	b.synchronized(first)
	second := binding("second", "read, write", "{group: web}, {group: ops}")
	b.synchronized(second)
	if got, want := rows(), "ops:read:second ops:write:second web:read:first web:write:second"; got != want {
		t.Errorf("bindings %s, want %s", got, want)
	}
	third := binding("third", "read", "{group: web}")
	b.want(third, "Readonly", "True", "Readonly", "managed by the operator (AccessBinding "+b.namespace+"/first)")
	b.deleted(third)
	b.deleted(second)
	if got, want := rows(), "web:read:first"; got != want {
		t.Errorf("after the deletion of the second: %s, want %s", got, want)
	}
	// The place is what the object is: it cannot become another.
	b.own("AccessBinding", "first", b.namespace, "{actions: [read], subjects: [{group: web}]}")
	b.want(first, "Synchronized", "False", "Error", "cannot become hub")
	b.deleted(first)
	if got := rows(); got != "" {
		t.Errorf("bindings %s", got)
	}
}

// Whoever may create objects in the namespace of a team gets none of these rights: the
// hub decides by the account of the team.
func TestTenantsGiveNoRights(t *testing.T) {
	b := newBed(t)
	team := b.tenant("team-a", "edge-1")
	b.issue("team-a", team)
	b.apply(credentials("a", team, team))
	ask(b, b.people.Groups.Create, &hubv1.CreateGroupRequest{Name: "web"})
	b.secret("okta", team, map[string]string{"secret": "hunter2-hunter2-hunter2"})
	b.operate()
	specs := map[string]string{
		"User": "{email: mallory@example.com}", "AdminGrant": "{serviceAccount: team-a}", "GroupMembership": "{group: web, members: [{serviceAccount: team-a}]}",
		"AccessBinding":   "{actions: [write], subjects: [{serviceAccount: team-a}]}",
		"LoginProvider":   "{issuer: 'https://evil.example.com', clientId: axle, clientSecretRef: {name: okta, key: secret}}",
		"FederationTrust": "{issuer: 'https://evil.example.com', audience: axle, claims: {sub: x}, serviceAccount: team-a}",
		"HubSettings":     "{syncWindows: [{kind: deny, schedule: '0 1 * * *', duration: 1h}]}", "ProjectLimits": "{project: default, clusterScoped: true}",
		"Application": "{project: default, public: true}",
		"Outputs":     "{values: {id: theirs}}", "Repository": "{type: git, url: 'https://git.invalid/x'}",
		"Webhook": "{provider: github, secretRef: {name: okta, key: secret}}", "ClusterTemplate": "{repository: fleet, ref: v1, folder: eks, kinds: [ConfigMap]}",
	}
	for name, k := range ownKinds(b) {
		t.Run(name, func(t *testing.T) {
			b := b.of(t)
			o := k.object("attack", team)
			b.own(name, o.GetName(), team, specs[name])
			eventually.For(t, limit, "it is refused", func() error {
				if err := b.Get(t.Context(), key(o), o); err != nil {
					return err
				}
				for _, c := range statusOf(o).Conditions {
					if c.Type == "Synchronized" && c.Status == "False" && c.Reason == "Error" && (strings.Contains(c.Message, "administrator") || strings.Contains(c.Message, "may not") || strings.Contains(c.Message, "axle auth bind")) {
						return nil
					}
					if c.Type == "Synchronized" && c.Status == "False" && c.Reason == "NotFound" && strings.Contains(c.Message, `project "default"`) {
						return nil // the team may not see the project
					}
				}
				return fmt.Errorf("status %+v", statusOf(o))
			})
			if n := b.gate.count(k.writes...); n > 0 && statusOf(o).ID != nil {
				t.Errorf("%d writes, status %+v", n, statusOf(o))
			}
		})
	}
	who := ask(b, b.people.Users.List, &hubv1.ListUsersRequest{Name: "team-a"}).GetUsers()[0]
	if who.GetAdmin() || len(who.GetGroups()) > 0 {
		t.Errorf("the team is %v", who)
	}
	if all := ask(b, b.people.Bindings.List, &hubv1.ListBindingsRequest{At: &hubv1.Place{}}).GetBindings(); len(all) > 0 {
		t.Errorf("bindings of the hub: %v", all)
	}
	if all := ask(b, b.people.Providers.List, &hubv1.ListProvidersRequest{}).GetProviders(); len(all) > 0 {
		t.Errorf("login providers: %v", all)
	}
	if all := ask(b, b.people.Federation.List, &hubv1.ListTrustsRequest{}).GetTrusts(); len(all) > 0 {
		t.Errorf("trusts: %v", all)
	}
}
