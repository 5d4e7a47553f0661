package gitcachetest

import (
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
)

// suiteAddress checks that stored credentials are never sent anywhere else.
func suiteAddress(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	before := create(t, s, "a")
	given := gitcache.Credentials{Password: "again"}
	for field, change := range map[string]func(*gitcache.Repository){
		"url":                     func(r *gitcache.Repository) { r.URL = "https://elsewhere.test/a" },
		"options.proxy":           func(r *gitcache.Repository) { r.Options.Proxy = "http://elsewhere.test" },
		"options.apiUrl":          func(r *gitcache.Repository) { r.Options.APIURL = "https://elsewhere.test" },
		"options.region":          func(r *gitcache.Repository) { r.Options.Region = "elsewhere" },
		"options.endpoint":        func(r *gitcache.Repository) { r.Options.Endpoint = "https://elsewhere.test" },
		"options.plainHttp":       func(r *gitcache.Repository) { r.Options.PlainHTTP = true },
		"options.passCredentials": func(r *gitcache.Repository) { r.Options.PassCredentials = true },
	} {
		changed := before
		change(&changed)
		_, err := s.UpdateRepository(ctx, changed, nil)
		wantCode(t, err, errcode.Invalid)
		if !strings.HasPrefix(errcode.Message(err), field+": ") {
			t.Errorf("%s: %v", field, err)
		}
		now, err := s.Repository(ctx, "a")
		check(t, err)
		equal(t, before, now)
		_, err = s.UpdateRepository(ctx, changed, &given)
		check(t, err)
		before, err = s.UpdateRepository(ctx, before, &given)
		check(t, err)
	}
	bounded := before
	bounded.Options.MaxBytes = 1 << 20
	bounded, err := s.UpdateRepository(ctx, bounded, nil)
	check(t, err)
	_, err = s.UpdateRepository(ctx, bounded, &gitcache.Credentials{CA: "ca", Username: "u"})
	check(t, err)
	bounded.Options.Proxy = "http://proxy.test"
	_, err = s.UpdateRepository(ctx, bounded, nil)
	check(t, err) // none of it is a secret
}

// suiteMove checks that with another URL a repository is as before its first
// fetch, and that an agent of the old upstream can write nothing more.
func suiteMove(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	r := create(t, s, "a")
	other := create(t, s, "b")
	src := put(t, s, "a", "x")
	kept := put(t, s, "b", "x")
	h := gitcache.Holder{Replica: "r1", Boot: "1"}
	epoch, theirs := acquire(t, s, "a", h), acquire(t, s, "b", h)
	head, art := someHead(src, "old")
	check(t, s.WriteHeads(ctx, "a", epoch, []gitcache.Head{head}, []gitcache.Artifact{art}))
	keptHead, keptArt := someHead(kept, "kept")
	check(t, s.WriteHeads(ctx, "b", theirs, []gitcache.Head{keptHead}, []gitcache.Artifact{keptArt}))
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	check(t, s.WriteHealth(ctx, "a", epoch, gitcache.Health{State: record.Pullable, CheckedAt: at, FetchedAt: at, Bytes: 7}))
	if r.Copy() != "a" || other.Copy() != "b" {
		t.Errorf("copies are called %q and %q", r.Copy(), other.Copy())
	}
	r.URL = "https://new.test/a"
	r, err := s.UpdateRepository(ctx, r, &gitcache.Credentials{})
	check(t, err)
	if r.Health != (gitcache.Health{State: record.Unknown}) || r.Copy() == "a" {
		t.Errorf("after a move health is %+v, and the copy is called %q", r.Health, r.Copy())
	}
	_, err = s.Head(ctx, src.ID)
	wantCode(t, err, errcode.NotFound)
	wantCode(t, s.WriteHeads(ctx, "a", epoch, []gitcache.Head{head}, nil), errcode.Conflict)
	wantCode(t, s.WriteHealth(ctx, "a", epoch, gitcache.Health{State: record.Pullable}), errcode.Conflict)
	wantCode(t, s.StartFetch(ctx, "a", epoch, 0), errcode.Conflict)
	held, err := s.Renew(ctx, h, time.Minute)
	check(t, err)
	if len(held) != 1 || held[0].RepositoryID != "b" {
		t.Errorf("after a move its holder still holds %+v", held)
	}
	if next := acquire(t, s, "a", gitcache.Holder{Replica: "r2", Boot: "1"}); next <= epoch+1 {
		t.Errorf("epoch %d comes after %d", next, epoch)
	}
	_, err = s.Head(ctx, kept.ID)
	check(t, err) // of another repository
	// The content of services must remain servable.
	if _, err := s.Artifact(ctx, head.Digest); err != nil {
		t.Errorf("the artifact of the old head: %v", err)
	}
	// The store maintains the number itself.
	r.Options.Moves = 0
	again, err := s.UpdateRepository(ctx, r, nil)
	check(t, err)
	if again.Options.Moves != 1 {
		t.Errorf("an update that moves nothing left %d moves", again.Options.Moves)
	}
}

// suiteSpelling checks that another spelling of the same URL moves nothing, and that the
// URL stays as it was written last.
func suiteSpelling(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	r := create(t, s, "a")
	src := put(t, s, "a", "x")
	epoch := acquire(t, s, "a", gitcache.Holder{Replica: "r1", Boot: "1"})
	head, art := someHead(src, "kept")
	check(t, s.WriteHeads(ctx, "a", epoch, []gitcache.Head{head}, []gitcache.Artifact{art}))
	for _, written := range []string{"https://me@GIT.example.test:443/a.git/", "https://git.example.test/a/", ""} {
		generation := r.Generation
		r.Written = written
		changed, err := s.UpdateRepository(ctx, r, nil)
		check(t, err)
		equal(t, written, changed.Written)
		equal(t, generation, changed.Generation)
		r = changed
	}
	generation := r.Generation
	r.URL, r.Written = "https://git.example.test/a.git", "https://git.example.test/a.git"
	r, err := s.UpdateRepository(ctx, r, nil)
	check(t, err)
	equal(t, "https://git.example.test/a.git", r.URL)
	equal(t, "a", r.Copy())
	equal(t, generation+1, r.Generation)
	_, err = s.Head(ctx, src.ID)
	check(t, err)
	check(t, s.WriteHealth(ctx, "a", epoch, gitcache.Health{State: record.Pullable}))
	r.URL, r.Written = "ssh://git@git.example.test/a", "git@git.example.test:a"
	_, err = s.UpdateRepository(ctx, r, nil)
	wantCode(t, err, errcode.Invalid)
}
