package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// user creates a user and returns the caller of the user's token, and the
// bearer.
func (g *gate) user(name string) (identity.Principal, string) {
	g.t.Helper()
	u, err := g.CreateUser(g.t.Context(), "ann", identity.KindUser, name, false)
	if err != nil {
		g.t.Fatal(err)
	}
	made, err := g.CreateToken(g.t.Context(), identity.Principal{Kind: u.Kind, ID: u.ID, Name: u.Name, Scopes: []string{"admin"}}, identity.TokenRequest{Name: "t"})
	if err != nil {
		g.t.Fatal(err)
	}
	p, err := g.Authenticate(g.t.Context(), made.Secret)
	if err != nil {
		g.t.Fatal(err)
	}
	return p, made.Secret
}

func (g *gate) bind(kind identity.Kind, subject string, level identity.Level, id string, actions ...identity.Action) []identity.Binding {
	g.t.Helper()
	made, err := g.Bind(g.t.Context(), "ann", identity.NewBinding{SubjectKind: kind, Subject: subject, Actions: actions, Level: level, ObjectID: id, Object: id})
	if err != nil {
		g.t.Fatal(err)
	}
	return made
}

// may waits until a directory answers as wanted.
func may(t *testing.T, d identities, p identity.Principal, action identity.Action, scope identity.Scope, want bool) {
	t.Helper()
	eventually.For(t, time.Minute, fmt.Sprintf("%s may %s: %v", p.Name, action, want), func() error {
		if err := d.Authorize(context.Background(), p, action, scope); (err == nil) != want {
			return fmt.Errorf("err = %w", errors.Join(err, errors.New("not yet")))
		}
		return nil
	})
}

func TestChangedBindingsActOnEveryReplica(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		other := g.replica()
		bob, secret := g.user("bob@example.com")
		shop := identity.Scope{Project: "prj_shop"}
		if err := g.Authorize(t.Context(), bob, identity.ActionRead, shop); !errcode.Is(err, errcode.Forbidden) || !strings.Contains(err.Error(), "axle auth bind") {
			t.Errorf("somebody without bindings: %v", err)
		}
		if n := len(g.bind(identity.KindUser, "bob@example.com", identity.LevelProject, "prj_shop", identity.ActionWrite)); n != 1 {
			t.Errorf("%d bindings made", n)
		}
		if n := len(g.bind(identity.KindUser, "bob@example.com", identity.LevelProject, "prj_shop", identity.ActionWrite)); n != 0 {
			t.Errorf("%d bindings made by a repetition", n)
		}
		// Here at once, there by the feed.
		if err := g.Authorize(t.Context(), bob, identity.ActionWrite, shop); err != nil {
			t.Error(err)
		}
		may(t, other, bob, identity.ActionWrite, shop, true)
		gone, err := g.Unbind(t.Context(), "ann", identity.NewBinding{
			SubjectKind: identity.KindUser, Subject: "bob@example.com", Actions: []identity.Action{identity.ActionWrite}, Level: identity.LevelProject, ObjectID: "prj_shop",
		})
		if err != nil || len(gone) != 1 {
			t.Fatalf("%v, %v", gone, err)
		}
		if err := g.Authorize(t.Context(), bob, identity.ActionRead, shop); err == nil {
			t.Error("a binding that was taken back acts on")
		}
		may(t, other, bob, identity.ActionRead, shop, false)

		// By a group: membership, and the group's end.
		if _, err := g.CreateGroup(t.Context(), "ann", "web team", ""); err != nil {
			t.Fatal(err)
		}
		g.bind(identity.KindGroup, "web team", identity.LevelHub, "", identity.ActionRead)
		may(t, other, bob, identity.ActionRead, shop, false)
		if err := g.AddMember(t.Context(), "ann", "web team", "bob@example.com"); err != nil {
			t.Fatal(err)
		}
		may(t, other, bob, identity.ActionRead, shop, true)
		if again, err := other.Authenticate(t.Context(), secret); err != nil || !slices.Equal(again.Groups, []string{"web team"}) {
			t.Errorf("groups %v, %v", again.Groups, err)
		}
		if err := g.DeleteGroup(t.Context(), "ann", "web team"); err != nil {
			t.Fatal(err)
		}
		may(t, other, bob, identity.ActionRead, shop, false)
		if again, err := other.Authenticate(t.Context(), secret); err != nil || len(again.Groups) != 0 {
			t.Errorf("groups %v, %v", again.Groups, err)
		}

		// Becoming an administrator, and ceasing to be one, take effect at
		// once.
		if _, err := g.SetAdmin(t.Context(), "ann", "bob@example.com", true); err != nil {
			t.Fatal(err)
		}
		may(t, other, bob, identity.ActionAdmin, identity.Scope{}, true)
		if again, err := other.Authenticate(t.Context(), secret); err != nil || !again.Admin || !slices.Equal(again.Groups, []string{identity.AdminsGroup}) {
			t.Errorf("an administrator is %+v, %v", again, err)
		}
		if _, err := g.SetAdmin(t.Context(), "ann", "bob@example.com", false); err != nil {
			t.Fatal(err)
		}
		may(t, other, bob, identity.ActionAdmin, identity.Scope{}, false)

		// A starting replica knows all of it.
		g.bind(identity.KindUser, "bob@example.com", identity.LevelProject, "prj_shop", identity.ActionGit)
		may(t, g.replica(), bob, identity.ActionGit, shop, true)
	})
}

func TestADeletedUserIsOutEverywhere(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		other := g.replica()
		_, secret := g.user("bob@example.com")
		g.bind(identity.KindUser, "bob@example.com", identity.LevelHub, "", identity.ActionWrite)
		if _, err := other.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		if err := g.DeleteUser(t.Context(), "ann", "bob@example.com"); err != nil {
			t.Fatal(err)
		}
		_, err := g.Authenticate(t.Context(), secret)
		wantCode(t, err, errcode.Unauthorized)
		eventually.For(t, time.Minute, "the other replica refuses them", func() error {
			if _, err := other.Authenticate(t.Context(), secret); !errcode.Is(err, errcode.Unauthorized) {
				return fmt.Errorf("err = %w", err)
			}
			return nil
		})
		// A later user with the same name has none of it.
		again, _ := g.user("bob@example.com")
		if err := g.Authorize(t.Context(), again, identity.ActionRead, identity.Scope{}); err == nil {
			t.Error("a new user of the same name has the old one's bindings")
		}
		if all, err := g.Bindings(t.Context(), g.ann); err != nil || len(all) != 0 {
			t.Errorf("bindings %v, %v", all, err)
		}
		wantCode(t, g.DeleteUser(t.Context(), "ann", "eve@example.com"), errcode.NotFound)
	})
}

func TestTheLastAdministratorStays(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		if _, err := g.CreateUser(t.Context(), "ann", identity.KindServiceAccount, "ci", true); err != nil {
			t.Fatal(err)
		}
		wantCode(t, g.DeleteUser(t.Context(), "ann", "ann@example.com"), errcode.Conflict)
		_, err := g.SetAdmin(t.Context(), "ann", "ann@example.com", false)
		wantCode(t, err, errcode.Conflict)
		// Of two that each would leave the other, one is refused.
		if _, err := g.CreateUser(t.Context(), "ann", identity.KindUser, "bob@example.com", true); err != nil {
			t.Fatal(err)
		}
		other := g.replica()
		var both sync.WaitGroup
		errs := make([]error, 2)
		both.Go(func() { _, errs[0] = g.SetAdmin(t.Context(), "x", "ann@example.com", false) })
		both.Go(func() { errs[1] = other.DeleteUser(t.Context(), "x", "bob@example.com") })
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("both or none were let through: %v", errs)
		}
		if n, err := g.yard.store.CountAdmins(t.Context()); err != nil || n != 1 {
			t.Errorf("%d administrators, %v", n, err)
		}
	})
}

func TestMembershipsBySourceEndApart(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		bob, secret := g.user("bob@example.com")
		for _, name := range []string{"web", "ops", "db"} {
			if _, err := g.CreateGroup(t.Context(), "ann", name, ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.AddMember(t.Context(), "ann", "web", "bob@example.com"); err != nil {
			t.Fatal(err)
		}
		groups := func() string {
			t.Helper()
			p, err := g.Authenticate(t.Context(), secret)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(p.Groups, " ")
		}
		provider := func(name string) account.Provider {
			made, err := g.CreateProvider(t.Context(), g.ann, account.Provider{
				Name: name, Issuer: "https://" + name + ".example.com", ClientID: "c", GroupsClaim: "groups",
				Groups: map[string]string{"web": "web", "ops": "ops", "db": "db"},
			}, "secret")
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		corp, other := provider("corp"), provider("other")
		for _, step := range []struct {
			source account.Provider
			says   []string
			want   string
		}{
			{corp, []string{"ops", "web", "no group of the hub", "system:masters"}, "ops web"},
			{corp, []string{"ops", "web"}, "ops web"},
			{other, []string{"db"}, "db ops web"},
			{corp, nil, "db web"},
			{other, nil, "web"},
		} {
			// A user is linked to one account at a time.
			if err := g.Unlink(t.Context(), g.ann, "bob@example.com"); err != nil {
				t.Fatal(err)
			}
			says := account.Claims{Subject: "s", Email: "bob@example.com", EmailVerified: true, Groups: step.says}
			if _, err := g.LoginBy(t.Context(), step.source, says); err != nil {
				t.Fatal(err)
			}
			if got := groups(); got != step.want {
				t.Errorf("after %s said %v: in %q, want %q", step.source.Name, step.says, got, step.want)
			}
		}
		_, members, sources, err := g.GroupMembers(t.Context(), "web")
		if err != nil || len(members) != 1 || len(sources[bob.ID]) != 1 {
			t.Errorf("%v %v %v", members, sources, err)
		}
		wantCode(t, g.RemoveMember(t.Context(), "ann", "ops", "bob@example.com"), errcode.NotFound)
		if err := g.RemoveMember(t.Context(), "ann", "web", "bob@example.com"); err != nil || groups() != "" {
			t.Errorf("in %q, %v", groups(), err)
		}
	})
}

func TestBindingsOfWhatIsGoneAreSwept(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		g.user("bob@example.com")
		c, err := g.yard.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: "edge-1"})
		if err != nil {
			t.Fatal(err)
		}
		shop, err := g.yard.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop", Description: ""})
		if err != nil {
			t.Fatal(err)
		}
		g.bind(identity.KindUser, "bob@example.com", identity.LevelCluster, c.ID, identity.ActionRead)
		g.bind(identity.KindUser, "bob@example.com", identity.LevelProject, shop.ID, identity.ActionRead, identity.ActionGit)
		g.bind(identity.KindUser, "bob@example.com", identity.LevelHub, "", identity.ActionRead)
		var names []string
		all, err := g.Bindings(t.Context(), g.ann)
		for _, b := range all {
			names = append(names, b.String())
		}
		slices.Sort(names)
		if want := []string{"git on project shop", "read on cluster edge-1", "read on project shop", "read on the whole hub"}; err != nil || !slices.Equal(names, want) {
			t.Errorf("%q, %v; want %q", names, err, want)
		}
		if err := g.yard.DeleteCluster(t.Context(), "ann", "edge-1", false); err != nil {
			t.Fatal(err)
		}
		if all, err := g.Bindings(t.Context(), g.ann); err != nil || len(all) != 3 {
			t.Errorf("%v, %v", all, err)
		}
		stale, err := g.yard.store.StaleBindings(t.Context(), 10)
		if err != nil || len(stale) != 1 || stale[0].ObjectID != c.ID {
			t.Errorf("stale %v, %v", stale, err)
		}
		eventually.For(t, time.Minute, "the sweep ends it", func() error {
			g.yard.clock.Advance(2 * time.Hour)
			if stale, err := g.yard.store.StaleBindings(t.Context(), 10); err != nil || len(stale) != 0 {
				return fmt.Errorf("%v, %w", stale, err)
			}
			return nil
		})
	})
}

func TestAccessIsBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		g.user("bob@example.com")
		_, err := g.CreateUser(t.Context(), "ann", identity.KindUser, "bob@example.com", false)
		wantCode(t, err, errcode.Conflict)
		for _, name := range []string{"", "system:masters", "SYSTEM:x", "axle:admins", " a", "a ", "a\nb", "a,b", "ä", strings.Repeat("a", 200)} {
			_, err := g.CreateGroup(t.Context(), "ann", name, "")
			wantCode(t, err, errcode.Invalid)
		}
		if _, err := g.CreateGroup(t.Context(), "ann", "web", ""); err != nil {
			t.Fatal(err)
		}
		_, err = g.CreateGroup(t.Context(), "ann", "web", "")
		wantCode(t, err, errcode.Conflict)
		for name, n := range map[string]identity.NewBinding{
			"a group as a user": {SubjectKind: identity.KindUser, Subject: "web"},
			"nobody":            {SubjectKind: identity.KindUser, Subject: "eve@example.com"},
			"no group":          {SubjectKind: identity.KindGroup, Subject: "bob@example.com"},
		} {
			n.Actions, n.Level = []identity.Action{identity.ActionRead}, identity.LevelHub
			if _, err := g.Bind(t.Context(), "ann", n); !errcode.Is(err, errcode.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err = g.Bind(t.Context(), "ann", identity.NewBinding{SubjectKind: identity.KindServiceAccount, Subject: "bob@example.com", Actions: []identity.Action{identity.ActionRead}, Level: identity.LevelHub})
		wantCode(t, err, errcode.Invalid)
		// As many as one may have, and one more.
		u, err := g.UserByName(t.Context(), "bob@example.com")
		if err != nil {
			t.Fatal(err)
		}
		err = g.yard.store.Write(t.Context(), func(ctx context.Context) error {
			for i := range 1000 {
				if _, err := g.yard.store.InsertBinding(ctx, identity.Binding{ID: fmt.Sprint("b", i), SubjectKind: identity.KindUser, SubjectID: u.ID, Action: identity.ActionRead, Level: identity.LevelProject, ObjectID: fmt.Sprint("p", i)}); err != nil {
					return err
				}
			}
			return event.Append(ctx, event.Change{Kind: event.KindUser, Key: u.ID})
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Bind(t.Context(), "ann", identity.NewBinding{SubjectKind: identity.KindUser, Subject: "bob@example.com", Actions: []identity.Action{identity.ActionRead}, Level: identity.LevelHub})
		wantCode(t, err, errcode.Exhausted)
	})
}
