package identity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/errcode"
)

// known returns a directory with people, groups and bindings as a feed would
// have delivered them.
func known(people []Person, groups []Group, bindings ...Binding) *Directory {
	d := &Directory{access: &accessIndex{}}
	d.access.replace(people, groups, bindings)
	return d
}

func caller(id string, scopes ...string) Principal {
	return Principal{Kind: KindUser, ID: id, Name: id + "@example.com", Scopes: scopes}
}

// The places of the tests: a service of project shop on its own cluster, one
// of project shop on a cluster of project infra, and things of infra.
var places = map[string]Scope{
	"hub":            {},
	"shop":           {Project: "shop"},
	"shop/c1":        {Project: "shop", Cluster: "c1"},
	"shop/c1/web":    {Project: "shop", Cluster: "c1", Service: "web"},
	"shop/c1/db":     {Project: "shop", Cluster: "c1", Service: "db"},
	"infra":          {Project: "infra"},
	"infra/c2":       {Project: "infra", Cluster: "c2"},
	"infra/c2/guest": {Project: "shop", Cluster: "c2", ClusterProject: "infra", Service: "guest"},
}

func TestBindingsFlowDown(t *testing.T) {
	bound := func(action Action, level Level, id string) []Binding {
		return []Binding{{ID: "b", SubjectKind: KindUser, SubjectID: "ann", Action: action, Level: level, ObjectID: id}}
	}
	tests := map[string]struct {
		bindings []Binding
		may      string
	}{
		"nothing":          {nil, ""},
		"read hub":         {bound(ActionRead, LevelHub, ""), "hub=r shop=r shop/c1=r shop/c1/web=r shop/c1/db=r infra=r infra/c2=r infra/c2/guest=r"},
		"write hub":        {bound(ActionWrite, LevelHub, ""), "hub=rwc shop=rwc shop/c1=rwc shop/c1/web=rwc shop/c1/db=rwc infra=rwc infra/c2=rwc infra/c2/guest=rwc"},
		"read project":     {bound(ActionRead, LevelProject, "shop"), "shop=r shop/c1=r shop/c1/web=r shop/c1/db=r infra/c2/guest=r"},
		"write project":    {bound(ActionWrite, LevelProject, "infra"), "infra=rwc infra/c2=rwc infra/c2/guest=rwc"},
		"create project":   {bound(ActionCreate, LevelProject, "shop"), "shop=c shop/c1=c shop/c1/web=c shop/c1/db=c infra/c2/guest=c"},
		"git project":      {bound(ActionGit, LevelProject, "shop"), "shop=g shop/c1=g shop/c1/web=g shop/c1/db=g infra/c2/guest=g"},
		"write cluster":    {bound(ActionWrite, LevelCluster, "c2"), "infra/c2=rwc infra/c2/guest=rwc"},
		"read service":     {bound(ActionRead, LevelService, "web"), "shop/c1/web=r"},
		"level is no name": {bound(ActionWrite, LevelCluster, "shop"), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ann := Person{User: User{ID: "ann", Kind: KindUser, Name: "ann@example.com"}}
			own := known([]Person{ann}, nil, tc.bindings...)
			ann.Groups = []string{"g1"}
			var ofGroup []Binding
			for _, b := range tc.bindings {
				b.SubjectKind, b.SubjectID = KindGroup, "g1"
				ofGroup = append(ofGroup, b)
			}
			group := known([]Person{ann}, []Group{{ID: "g1", Name: "web team"}}, ofGroup...)
			want := map[string]string{}
			for _, one := range strings.Fields(tc.may) {
				place, letters, _ := strings.Cut(one, "=")
				want[place] = letters
			}
			for place, scope := range places {
				for letter, action := range map[string]Action{"r": ActionRead, "w": ActionWrite, "c": ActionCreate, "g": ActionGit} {
					for how, d := range map[string]*Directory{"own": own, "by group": group} {
						may := strings.Contains(want[place], letter)
						err := d.Authorize(t.Context(), caller("ann", ScopeAdmin), action, scope)
						if (err == nil) != may || err != nil && !errcode.Is(err, errcode.Forbidden) {
							t.Errorf("%s: %s in %s: %v, want allowed %v", how, action, place, err, may)
						}
						reach, rerr := d.Reach(t.Context(), caller("ann", ScopeAdmin), action)
						if covers := rerr == nil && reach.Covers(scope); covers != may {
							t.Errorf("%s: reach of %s covers %s: %v, want %v", how, action, place, covers, may)
						}
					}
				}
				if err := own.Authorize(t.Context(), caller("ann", ScopeAdmin), ActionAdmin, scope); err == nil {
					t.Errorf("a binding made an administrator in %s", place)
				}
			}
		})
	}
}

func TestTokensCapWhatPeopleMay(t *testing.T) {
	root := Person{User: User{ID: "root", Kind: KindUser, Name: "root@example.com", Admin: true}}
	ann := Person{User: User{ID: "ann", Kind: KindUser, Name: "ann@example.com"}}
	d := known([]Person{root, ann}, nil,
		Binding{ID: "b1", SubjectID: "ann", Action: ActionWrite, Level: LevelProject, ObjectID: "shop"},
		Binding{ID: "b2", SubjectID: "ann", Action: ActionGit, Level: LevelProject, ObjectID: "shop"})
	inShop := caller("root", ScopeAdmin)
	inShop.Project = "shop"
	wasAdmin := caller("ann", ScopeAdmin)
	wasAdmin.Admin = true
	callers := map[string]struct {
		Principal
		may string // letters in shop, then in infra
	}{
		"nobody":        {Principal{}, " "},
		"administrator": {caller("root", ScopeAdmin), "szrwcga szrwcga"},
		"admin, write":  {caller("root", ScopeWrite), "szrwcg szrwcg"},
		"admin, read":   {caller("root", ScopeRead), "sr sr"},
		"no scope":      {caller("root"), " "},
		"of a project":  {inShop, "szrwcga sz"},
		"was admin":     {wasAdmin, "szrwcg sz"},
		"writer":        {caller("ann", ScopeAdmin), "szrwcg sz"},
		"writer, read":  {caller("ann", ScopeRead), "sr s"},
		"stranger":      {caller("bob", ScopeAdmin), "sz sz"},
		"cluster":       {Principal{Kind: KindCluster, ID: "c1", Name: "edge-1"}, " "},
		"setup":         {Principal{Kind: KindSetup, Scopes: []string{ScopeAdmin}}, " "},
		"bootstrap":     {Principal{Kind: KindBootstrap, Scopes: []string{ScopeAdmin}}, " "},
		"group":         {Principal{Kind: KindGroup, ID: "g1", Scopes: []string{ScopeAdmin}}, " "},
	}
	actions := map[string]Action{"s": ActionSelf, "z": ActionSelfChange, "r": ActionRead, "w": ActionWrite, "c": ActionCreate, "g": ActionGit, "a": ActionAdmin, "d": ActionDeliver, "?": Action("other")}
	for name, c := range callers {
		letters := strings.SplitN(c.may, " ", 2)
		for i, project := range []string{"shop", "infra"} {
			for letter, action := range actions {
				t.Run(fmt.Sprintf("%s/%s/%s", name, project, action), func(t *testing.T) {
					want := errcode.Forbidden
					switch {
					case strings.Contains(letters[i], letter):
						want = ""
					case name == "nobody":
						want = errcode.Unauthorized
					}
					if err := d.Authorize(t.Context(), c.Principal, action, Scope{Project: project}); errcode.Of(err) != want {
						t.Errorf("err = %v, want code %q", err, want)
					}
				})
			}
		}
	}
}

func TestAgentsDeliverToTheirOwnClusterAlone(t *testing.T) {
	d, agent := &Directory{}, Principal{Kind: KindCluster, ID: "c1", Name: "edge-1"}
	for cluster, want := range map[string]errcode.Code{"c1": "", "c2": errcode.Forbidden, "": errcode.Forbidden} {
		if err := d.Authorize(t.Context(), agent, ActionDeliver, Scope{Cluster: cluster}); errcode.Of(err) != want {
			t.Errorf("cluster %q: %v, want %q", cluster, err, want)
		}
	}
}

func TestAdministratorsAndMembersCarryTheirGroups(t *testing.T) {
	d := known([]Person{
		{User: User{ID: "root", Kind: KindUser, Name: "root@example.com", Admin: true}, Groups: []string{"g1"}},
		{User: User{ID: "ann", Kind: KindUser, Name: "ann@example.com"}, Groups: []string{"g1", "g2", "gone"}},
	}, []Group{{ID: "g1", Name: "web team"}, {ID: "g2", Name: "ops"}})
	for id, want := range map[string]string{"root": "axle:admins,web team", "ann": "ops,web team", "bob": ""} {
		p := d.principal(Token{Kind: TokenAPI, OwnerKind: KindUser, OwnerID: id, Scopes: AllScopes})
		if got := strings.Join(p.Groups, ","); got != want {
			t.Errorf("%s is in %q, want %q", id, got, want)
		}
	}
	// What a token may not do as an administrator, it may do nowhere.
	for scopes, want := range map[string]string{"read": "web team", "write": "web team", "read,write": "web team", "admin": "axle:admins,web team"} {
		p := d.principal(Token{Kind: TokenAPI, OwnerKind: KindUser, OwnerID: "root", Scopes: strings.Split(scopes, ",")})
		if got := strings.Join(p.Groups, ","); got != want {
			t.Errorf("a token with %s is in %q, want %q", scopes, got, want)
		}
	}
	if root, _ := d.access.person("root"); strings.Join(root.names, ",") != "web team" {
		t.Errorf("the person's own groups became %q", root.names)
	}
	d.access.update(nil, []string{"g2"}, nil, nil, nil)
	if p := d.principal(Token{Kind: TokenAPI, OwnerID: "ann"}); strings.Join(p.Groups, ",") != "web team" {
		t.Errorf("groups %v after one was deleted", p.Groups)
	}
}

func TestTheRefusalNamesTheCommand(t *testing.T) {
	d := known([]Person{{User: User{ID: "ann", Kind: KindUser}}, {User: User{ID: "ci", Kind: KindServiceAccount}}}, nil,
		Binding{SubjectID: "ci", Action: ActionRead, Level: LevelProject, ObjectID: "shop"})
	err := d.Authorize(t.Context(), caller("ann", ScopeAdmin), ActionRead, Scope{Project: "shop"})
	if want := "axle auth bind --user ann@example.com --action read --project NAME"; !strings.Contains(errcode.Message(err), want) {
		t.Errorf("%v does not say %q", err, want)
	}
	ci := Principal{Kind: KindServiceAccount, ID: "ci", Name: "ci", Scopes: AllScopes}
	err = d.Authorize(t.Context(), ci, ActionWrite, Scope{Project: "shop", Cluster: "c1"})
	if want := "axle auth bind --service-account ci --action write --cluster NAME"; !strings.Contains(errcode.Message(err), want) {
		t.Errorf("%v does not say %q", err, want)
	}
}

func BenchmarkAuthorize(b *testing.B) {
	ann := Person{User: User{ID: "ann", Kind: KindUser}, Groups: []string{"g1", "g2", "g3"}}
	d := known([]Person{ann}, nil, Binding{SubjectID: "g3", Action: ActionWrite, Level: LevelCluster, ObjectID: "c1"})
	p, scope := caller("ann", ScopeAdmin), Scope{Project: "shop", Cluster: "c1", Service: "web"}
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Authorize(b.Context(), p, ActionRead, scope); err != nil {
			b.Fatal(err)
		}
	}
}

// Administrators and the operator have the reserve of every pool; whoever has fewer rights than
// an administrator, or may act for one project only, has none.
func TestWhoHasTheReserve(t *testing.T) {
	admin := Principal{Kind: KindUser, ID: "root", Admin: true, Scopes: []string{ScopeAdmin}}
	inProject, reads := admin, admin
	inProject.Project, reads.Scopes = "shop", []string{ScopeRead}
	for name, c := range map[string]struct {
		of   Principal
		want bool
	}{
		"an administrator":                   {admin, true},
		"a token of one, for a project":      {inProject, false},
		"a token of one, which only reads":   {reads, false},
		"the operator":                       {Principal{Kind: KindServiceAccount, ID: "operator", Operator: true}, true},
		"somebody":                           {caller("ann", ScopeAdmin), false},
		"somebody whose groups bind a right": {caller("bob"), false},
	} {
		if got := c.of.Sharing().Reserved; got != c.want {
			t.Errorf("%s has the reserve: %v", name, got)
		}
	}
}
