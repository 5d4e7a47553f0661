package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
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
