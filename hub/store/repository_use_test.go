package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// A repository and a source are in use by a service that has them as a part.
func TestPartsUseTheirRepositories(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		for name, source := range map[string]string{"main": fleettest.AppSource, "policy": fleettest.RulesSource, "spare": "src_spare"} {
			_, err := env.Store.CreateRepository(t.Context(), gitcache.Repository{ID: "repo_" + name, Name: name, Kind: "git", URL: "https://git.test/" + name}, gitcache.Credentials{})
			if err == nil {
				err = env.Store.PutSource(t.Context(), gitcache.Source{ID: source, RepositoryID: "repo_" + name, Ref: "main"})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		env.AddSeveral()
		if n, err := env.Store.DropSources(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
			t.Errorf("dropped %d sources, %v; want only the spare one", n, err)
		}
		for name, code := range map[string]errcode.Code{"main": errcode.Conflict, "policy": errcode.Conflict, "spare": ""} {
			if err := env.Store.DeleteRepository(t.Context(), "repo_"+name); errcode.Of(err) != code {
				t.Errorf("deleting %s: %v, want %q", name, err, code)
			}
		}
		uses, err := env.Store.ServicesByRepository(t.Context(), "", identity.All)
		if diff := cmp.Diff(map[string]int{"repo_main": 1, "repo_policy": 1, "repo_https://charts.test": 1}, uses); diff != "" || err != nil {
			t.Errorf("uses, %v (-want +got):\n%s", err, diff)
		}
	})
}

// Who is bound to a repository is counted by project and named within reach. A template
// holds its repository while it has no targets, too.
func TestRepositoryUsers(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		for _, name := range []string{"main", "policy", "template", "spare"} {
			r := gitcache.Repository{ID: "repo_" + name, Name: name, Kind: "git", ProjectID: "prj_lab", URL: "https://git.test/" + name}
			if _, err := env.Store.CreateRepository(t.Context(), r, gitcache.Credentials{}); err != nil {
				t.Fatal(err)
			}
		}
		several := env.AddSeveral()
		templates := env.Global(env.Store)
		for name, repository := range map[string]string{"agent": "template", "other": "main"} {
			spec := fleettest.Spec("web")
			spec.Repository = repository
			if _, _, err := templates.Apply(t.Context(), "ann", globals.Request{Name: name, Spec: spec, Selectors: globals.Selectors{Tags: map[string]string{"no": "cluster"}}}); err != nil {
				t.Fatal(err)
			}
		}
		everywhere, nowhere := identity.Reach{Everywhere: true}, identity.Reach{}
		service := "service " + several.Ref().String()
		for _, test := range []struct {
			repository string
			reach      identity.Reach
			projects   map[string]int
			seen       []string
		}{
			{"main", everywhere, map[string]int{fleet.DefaultProjectID: 1, "": 1}, []string{service, "global service other"}},
			{"main", identity.Reach{Projects: []string{fleet.DefaultProjectID}}, map[string]int{fleet.DefaultProjectID: 1, "": 1}, []string{service}},
			{"policy", nowhere, map[string]int{fleet.DefaultProjectID: 1}, nil},
			{"template", everywhere, map[string]int{"": 1}, []string{"global service agent"}},
			{"spare", everywhere, map[string]int{}, nil},
		} {
			projects, seen, err := store.RepositoryUsers(env.Store)(t.Context(), "repo_"+test.repository, test.reach)
			if diff := cmp.Diff(test.projects, projects); diff != "" || err != nil {
				t.Errorf("%s: projects, %v (-want +got):\n%s", test.repository, err, diff)
			}
			if diff := cmp.Diff(test.seen, seen); diff != "" {
				t.Errorf("%s: seen (-want +got):\n%s", test.repository, diff)
			}
		}
		if err := env.Store.DeleteRepository(t.Context(), "repo_template"); !errcode.Is(err, errcode.Conflict) {
			t.Errorf("deleting what a template is bound to: %v", err)
		}
		if err := env.Store.DeleteRepository(t.Context(), "repo_spare"); err != nil {
			t.Errorf("deleting what nobody uses: %v", err)
		}
		ids, err := env.Store.ServicesBoundElsewhere(t.Context())
		if diff := cmp.Diff([]string{several.ID}, ids); diff != "" || err != nil {
			t.Errorf("services with a repository of another project, %v (-want +got):\n%s", err, diff)
		}
		bound, err := env.Store.BoundTemplates(t.Context())
		if err != nil || len(bound) != 2 || bound[0].Name != "agent" || !slices.Equal(bound[0].Repositories, []string{"repo_template"}) {
			t.Fatalf("templates: %+v, %v", bound, err)
		}
		// As a target of a template that is bound to other repositories it is listed, too.
		d.Exec(t, "UPDATE services SET managed_by_tool = 'hub', managed_by_id = '"+bound[0].ID+"' WHERE id = '"+several.ID+"'")
		ids, err = env.Store.ServicesBoundElsewhere(t.Context())
		if diff := cmp.Diff([]string{several.ID}, ids); diff != "" || err != nil {
			t.Errorf("targets with a repository of another project, %v (-want +got):\n%s", err, diff)
		}
		for i, want := range []bool{true, false} {
			if strays, err := env.Store.Strays(t.Context(), bound[i].ID); strays != want || err != nil {
				t.Errorf("%s has strays: %v, %v", bound[i].Name, strays, err)
			}
		}
	})
}

// Who binds a service to a repository while its address changes is seen: the change is
// decided again.
func TestAnAddressChangesOnlyWithAllWhoUseIt(t *testing.T) {
	env := fleettest.New(t, storetest.Postgres(t))
	env.AddCluster("edge-1")
	r, err := env.Store.CreateRepository(t.Context(), gitcache.Repository{ID: "repo_main", Name: "main", Kind: "git", URL: "https://git.test/main"}, gitcache.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	ctx := gitcache.Guarded(t.Context(), func(ctx context.Context, field string) error {
		projects, _, err := store.RepositoryUsers(env.Store)(ctx, r.ID, identity.Reach{})
		if looks++; looks == 1 {
			env.AddService("edge-1", "web")
		}
		if err == nil && len(projects) > 0 {
			err = errcode.New(errcode.Forbidden, "%s: it is used", field)
		}
		return err
	})
	r.URL = "https://git.test/moved"
	if _, err := env.Store.UpdateRepository(ctx, r, nil); !errcode.Is(err, errcode.Forbidden) || looks != 2 {
		t.Errorf("after %d looks: %v; want a second one that sees the service", looks, err)
	}
}
