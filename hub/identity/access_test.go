package identity_test

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
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/identitytest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// bind gives a subject some actions, as ann.
func bind(env *identitytest.Identity, kind identity.Kind, subject string, level identity.Level, id string, actions ...identity.Action) []identity.Binding {
	env.T.Helper()
	made, err := env.Bind(env.T.Context(), "ann", identity.NewBinding{SubjectKind: kind, Subject: subject, Actions: actions, Level: level, ObjectID: id, Object: id})
	if err != nil {
		env.T.Fatal(err)
	}
	return made
}

// may waits until a replica answers as wanted.
func may(t *testing.T, parts identitytest.Parts, p identity.Principal, action identity.Action, scope identity.Scope, want bool) {
	t.Helper()
	eventually.For(t, time.Minute, fmt.Sprintf("%s may %s: %v", p.Name, action, want), func() error {
		if err := parts.Authorize(context.Background(), p, action, scope); (err == nil) != want {
			return fmt.Errorf("err = %w", errors.Join(err, errors.New("not yet")))
		}
		return nil
	})
}

func TestChangedBindingsActOnEveryReplica(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		other := env.Replica()
		bob, secret := env.AddUser("bob@example.com")
		shop := identity.Scope{Project: "prj_shop"}
		if err := env.Authorize(t.Context(), bob, identity.ActionRead, shop); !errcode.Is(err, errcode.Forbidden) || !strings.Contains(err.Error(), "axle auth bind") {
			t.Errorf("somebody without bindings: %v", err)
		}
		if n := len(bind(env, identity.KindUser, "bob@example.com", identity.LevelProject, "prj_shop", identity.ActionWrite)); n != 1 {
			t.Errorf("%d bindings made", n)
		}
		if n := len(bind(env, identity.KindUser, "bob@example.com", identity.LevelProject, "prj_shop", identity.ActionWrite)); n != 0 {
			t.Errorf("%d bindings made by a repetition", n)
		}
		// Here at once, there by the feed.
		if err := env.Authorize(t.Context(), bob, identity.ActionWrite, shop); err != nil {
			t.Error(err)
		}
		may(t, other, bob, identity.ActionWrite, shop, true)
		gone, err := env.Unbind(t.Context(), "ann", identity.NewBinding{
			SubjectKind: identity.KindUser, Subject: "bob@example.com", Actions: []identity.Action{identity.ActionWrite}, Level: identity.LevelProject, ObjectID: "prj_shop",
		})
		if err != nil || len(gone) != 1 {
			t.Fatalf("%v, %v", gone, err)
		}
		if err := env.Authorize(t.Context(), bob, identity.ActionRead, shop); err == nil {
			t.Error("a binding that was taken back acts on")
		}
		may(t, other, bob, identity.ActionRead, shop, false)

		// By a group: membership, and the group's end.
		if _, err := env.CreateGroup(t.Context(), "ann", "web team", ""); err != nil {
			t.Fatal(err)
		}
		bind(env, identity.KindGroup, "web team", identity.LevelHub, "", identity.ActionRead)
		may(t, other, bob, identity.ActionRead, shop, false)
		if err := env.AddMember(t.Context(), "ann", "web team", "bob@example.com"); err != nil {
			t.Fatal(err)
		}
		may(t, other, bob, identity.ActionRead, shop, true)
		if again, err := other.Authenticate(t.Context(), secret); err != nil || !slices.Equal(again.Groups, []string{"web team"}) {
			t.Errorf("groups %v, %v", again.Groups, err)
		}
		if err := env.DeleteGroup(t.Context(), "ann", "web team"); err != nil {
			t.Fatal(err)
		}
		may(t, other, bob, identity.ActionRead, shop, false)
		if again, err := other.Authenticate(t.Context(), secret); err != nil || len(again.Groups) != 0 {
			t.Errorf("groups %v, %v", again.Groups, err)
		}

		// Becoming an administrator, and ceasing to be one, take effect at
		// once.
		if _, err := env.SetAdmin(t.Context(), "ann", "bob@example.com", true); err != nil {
			t.Fatal(err)
		}
		may(t, other, bob, identity.ActionAdmin, identity.Scope{}, true)
		if again, err := other.Authenticate(t.Context(), secret); err != nil || !again.Admin || !slices.Equal(again.Groups, []string{identity.AdminsGroup}) {
			t.Errorf("an administrator is %+v, %v", again, err)
		}
		if _, err := env.SetAdmin(t.Context(), "ann", "bob@example.com", false); err != nil {
			t.Fatal(err)
		}
		may(t, other, bob, identity.ActionAdmin, identity.Scope{}, false)

		// A starting replica knows all of it.
		bind(env, identity.KindUser, "bob@example.com", identity.LevelProject, "prj_shop", identity.ActionGit)
		may(t, env.Replica(), bob, identity.ActionGit, shop, true)
	})
}

func TestADeletedUserIsOutEverywhere(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		other := env.Replica()
		_, secret := env.AddUser("bob@example.com")
		bind(env, identity.KindUser, "bob@example.com", identity.LevelHub, "", identity.ActionWrite)
		if _, err := other.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		if err := env.DeleteUser(t.Context(), "ann", "bob@example.com"); err != nil {
			t.Fatal(err)
		}
		_, err := env.Authenticate(t.Context(), secret)
		fleettest.WantCode(t, err, errcode.Unauthorized)
		eventually.For(t, time.Minute, "the other replica refuses them", func() error {
			if _, err := other.Authenticate(t.Context(), secret); !errcode.Is(err, errcode.Unauthorized) {
				return fmt.Errorf("err = %w", err)
			}
			return nil
		})
		// A later user with the same name has none of it.
		again, _ := env.AddUser("bob@example.com")
		if err := env.Authorize(t.Context(), again, identity.ActionRead, identity.Scope{}); err == nil {
			t.Error("a new user of the same name has the old one's bindings")
		}
		if all, err := env.Bindings(t.Context(), env.Ann); err != nil || len(all) != 0 {
			t.Errorf("bindings %v, %v", all, err)
		}
		fleettest.WantCode(t, env.DeleteUser(t.Context(), "ann", "eve@example.com"), errcode.NotFound)
	})
}

func TestTheLastAdministratorStays(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		if _, err := env.CreateUser(t.Context(), "ann", identity.KindServiceAccount, "ci", true); err != nil {
			t.Fatal(err)
		}
		fleettest.WantCode(t, env.DeleteUser(t.Context(), "ann", "ann@example.com"), errcode.Conflict)
		_, err := env.SetAdmin(t.Context(), "ann", "ann@example.com", false)
		fleettest.WantCode(t, err, errcode.Conflict)
		// Of two that each would leave the other, one is refused.
		if _, err := env.CreateUser(t.Context(), "ann", identity.KindUser, "bob@example.com", true); err != nil {
			t.Fatal(err)
		}
		other := env.Replica()
		var both sync.WaitGroup
		errs := make([]error, 2)
		both.Go(func() { _, errs[0] = env.SetAdmin(t.Context(), "x", "ann@example.com", false) })
		both.Go(func() { errs[1] = other.DeleteUser(t.Context(), "x", "bob@example.com") })
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("both or none were let through: %v", errs)
		}
		if n, err := env.Fleet.Store.CountAdmins(t.Context()); err != nil || n != 1 {
			t.Errorf("%d administrators, %v", n, err)
		}
	})
}

func TestBindingsOfWhatIsGoneAreSwept(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		env.AddUser("bob@example.com")
		c := env.NewCluster("edge-1", nil)
		shop := env.NewProject("shop")
		bind(env, identity.KindUser, "bob@example.com", identity.LevelCluster, c.ID, identity.ActionRead)
		bind(env, identity.KindUser, "bob@example.com", identity.LevelProject, shop.ID, identity.ActionRead, identity.ActionGit)
		bind(env, identity.KindUser, "bob@example.com", identity.LevelHub, "", identity.ActionRead)
		var names []string
		all, err := env.Bindings(t.Context(), env.Ann)
		for _, b := range all {
			names = append(names, b.String())
		}
		slices.Sort(names)
		if want := []string{"git on project shop", "read on cluster edge-1", "read on project shop", "read on the whole hub"}; err != nil || !slices.Equal(names, want) {
			t.Errorf("%q, %v; want %q", names, err, want)
		}
		if err := env.Fleet.DeleteCluster(t.Context(), "ann", "edge-1", false); err != nil {
			t.Fatal(err)
		}
		if all, err := env.Bindings(t.Context(), env.Ann); err != nil || len(all) != 3 {
			t.Errorf("%v, %v", all, err)
		}
		stale, err := env.Fleet.Store.StaleBindings(t.Context(), 10)
		if err != nil || len(stale) != 1 || stale[0].ObjectID != c.ID {
			t.Errorf("stale %v, %v", stale, err)
		}
		eventually.For(t, time.Minute, "the sweep ends it", func() error {
			env.Fleet.Clock.Advance(2 * time.Hour)
			if stale, err := env.Fleet.Store.StaleBindings(t.Context(), 10); err != nil || len(stale) != 0 {
				return fmt.Errorf("%v, %w", stale, err)
			}
			return nil
		})
	})
}

func TestAccessIsBounded(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		env.AddUser("bob@example.com")
		_, err := env.CreateUser(t.Context(), "ann", identity.KindUser, "bob@example.com", false)
		fleettest.WantCode(t, err, errcode.Conflict)
		for _, name := range []string{"", "system:masters", "SYSTEM:x", "axle:admins", " a", "a ", "a\nb", "a,b", "ä", strings.Repeat("a", 200)} {
			_, err := env.CreateGroup(t.Context(), "ann", name, "")
			fleettest.WantCode(t, err, errcode.Invalid)
		}
		if _, err := env.CreateGroup(t.Context(), "ann", "web", ""); err != nil {
			t.Fatal(err)
		}
		_, err = env.CreateGroup(t.Context(), "ann", "web", "")
		fleettest.WantCode(t, err, errcode.Conflict)
		for name, n := range map[string]identity.NewBinding{
			"a group as a user": {SubjectKind: identity.KindUser, Subject: "web"},
			"nobody":            {SubjectKind: identity.KindUser, Subject: "eve@example.com"},
			"no group":          {SubjectKind: identity.KindGroup, Subject: "bob@example.com"},
		} {
			n.Actions, n.Level = []identity.Action{identity.ActionRead}, identity.LevelHub
			if _, err := env.Bind(t.Context(), "ann", n); !errcode.Is(err, errcode.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err = env.Bind(t.Context(), "ann", identity.NewBinding{SubjectKind: identity.KindServiceAccount, Subject: "bob@example.com", Actions: []identity.Action{identity.ActionRead}, Level: identity.LevelHub})
		fleettest.WantCode(t, err, errcode.Invalid)
		// As many as one may have, and one more.
		u, err := env.UserByName(t.Context(), "bob@example.com")
		if err != nil {
			t.Fatal(err)
		}
		err = env.Fleet.Store.Write(t.Context(), func(ctx context.Context) error {
			for i := range 1000 {
				if _, err := env.Fleet.Store.InsertBinding(ctx, identity.Binding{ID: fmt.Sprint("b", i), SubjectKind: identity.KindUser, SubjectID: u.ID, Action: identity.ActionRead, Level: identity.LevelProject, ObjectID: fmt.Sprint("p", i)}); err != nil {
					return err
				}
			}
			return event.Append(ctx, event.Change{Kind: event.KindUser, Key: u.ID})
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = env.Bind(t.Context(), "ann", identity.NewBinding{SubjectKind: identity.KindUser, Subject: "bob@example.com", Actions: []identity.Action{identity.ActionRead}, Level: identity.LevelHub})
		fleettest.WantCode(t, err, errcode.Exhausted)
	})
}
