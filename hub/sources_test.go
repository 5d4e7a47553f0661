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
