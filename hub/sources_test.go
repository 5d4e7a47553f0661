package hub_test

import (
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/errcode"
)

// A repository that the hub follows for another one, with that one's
// credentials, cannot be used by others: neither its name nor its URL brings
// its content into a service.
func TestNobodyNamesWhatIsFollowedForAnother(t *testing.T) {
	t.Parallel()
	h := hubtest.New(t, hubtest.Config{})
	const url = "https://git.example.invalid/team/secret.git"
	followed, err := h.Parts().Cache.FollowByItself(t.Context(), "repo_parent", gitcache.Repository{Kind: gitcache.KindGit, URL: url}, gitcache.Credentials{Password: "token of the parent"})
	if err != nil {
		t.Fatal(err)
	}
	follow := func(want fleet.SourceWant) error {
		want.At, want.Ref, want.ProjectID = "git", "main", fleet.DefaultProjectID
		_, _, err := h.Follow(t.Context(), want)
		return err
	}
	for name, want := range map[string]fleet.SourceWant{"by name": {Repository: followed.Name}, "by URL": {URL: url}} {
		if err := follow(want); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Registered by a person, the same URL is that person's.
	if _, err := h.Parts().Cache.CreateRepository(t.Context(), gitcache.Repository{Name: "mine", URL: url}, gitcache.Credentials{}); err != nil {
		t.Fatal(err)
	}
	if err := follow(fleet.SourceWant{URL: url}); err != nil {
		t.Errorf("a registered URL: %v", err)
	}
}

// A service finds a registered repository by every spelling of its URL, and by no other
// URL.
func TestAServiceFindsARepositoryByEverySpelling(t *testing.T) {
	t.Parallel()
	h := hubtest.New(t, hubtest.Config{})
	create := func(r gitcache.Repository) string {
		made, err := h.Parts().Cache.CreateRepository(t.Context(), r, gitcache.Credentials{})
		if err != nil {
			t.Fatal(err)
		}
		return made.ID
	}
	azure := create(gitcache.Repository{Name: "azure", URL: "https://contoso@dev.azure.com/contoso/shop/_git/app"})
	app := create(gitcache.Repository{Name: "app", URL: "https://GIT.example.invalid:443/Team/app.git/"})
	charts := create(gitcache.Repository{Name: "charts", Kind: gitcache.KindHelm, URL: "https://Charts.example.invalid/stable/"})
	for url, want := range map[string]string{
		"https://dev.azure.com/contoso/shop/_git/app": azure, "https://contoso.visualstudio.com/shop/_git/app": azure, "https://contoso@dev.azure.com/contoso/shop/_git/app/": azure,
		"https://git.example.invalid/Team/app": app, " HTTPS://git.example.invalid/Team/app/ ": app,
	} {
		_, found, err := h.Follow(t.Context(), fleet.SourceWant{ProjectID: fleet.DefaultProjectID, At: "git", Ref: "main", URL: url})
		if err != nil || found != want {
			t.Errorf("%q finds %q, not %q: %v", url, found, want, err)
		}
	}
	for _, url := range []string{"https://git.example.invalid/team/app", "http://git.example.invalid/Team/app", "git@git.example.invalid:Team/app"} {
		if _, found, err := h.Follow(t.Context(), fleet.SourceWant{ProjectID: fleet.DefaultProjectID, At: "git", Ref: "main", URL: url}); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%q finds %q, %v", url, found, err)
		}
	}
	for _, url := range []string{"https://charts.example.invalid:443/stable", "HTTPS://ci@charts.example.invalid/stable//"} {
		if _, found, err := h.Follow(t.Context(), fleet.SourceWant{ProjectID: fleet.DefaultProjectID, At: "helm", Chart: "redis", URL: url}); err != nil || found != charts {
			t.Errorf("%q finds %q, not %q: %v", url, found, charts, err)
		}
	}
}
