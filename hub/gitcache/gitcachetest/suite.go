package gitcachetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// Fixture is a fresh, empty store with functions for what the suite cannot do
// through the store itself.
type Fixture struct {
	Store gitcache.Store
	// Refer makes one more service (or, with -1, one less) follow a source.
	Refer func(t *testing.T, sourceID string, by int)
	// Pin makes a current spec name a digest, or stop naming it.
	Pin func(t *testing.T, d digest.Digest, pinned bool)
	// Announced returns how many feed rows there are so far.
	Announced func(t *testing.T) int
}

// RunStoreSuite checks that a store fulfils the contract of gitcache.Store.
func RunStoreSuite(t *testing.T, newFixture func(t *testing.T) Fixture) {
	for name, run := range map[string]func(*testing.T, Fixture){
		"repositories": suiteRepositories,
		"credentials":  suiteCredentials, "another address": suiteAddress, "another URL": suiteMove,
		"another spelling":       suiteSpelling,
		"delete":                 suiteDelete,
		"sources":                suiteSources,
		"heads":                  suiteHeads,
		"heads of an old epoch":  suiteOldEpoch,
		"many heads":             suiteManyHeads,
		"artifacts and pins":     suitePins,
		"health":                 suiteHealth,
		"lease":                  suiteLease,
		"lease of a former life": suiteFormerLife,
		"lease that ran out":     suiteLeaseRunsOut,
		"one of many acquires":   suiteManyAcquire,
		"fetch starts":           suiteFetchStarts,
		"kicks":                  suiteKicks,
	} {
		t.Run(name, func(t *testing.T) { run(t, newFixture(t)) })
	}
}

var (
	first  = gitcache.Holder{Replica: "hub-0", Boot: "one"}
	second = gitcache.Holder{Replica: "hub-1", Boot: "two"}
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code errcode.Code) {
	t.Helper()
	if !errcode.Is(err, code) {
		t.Fatalf("error is %v, want code %s", err, code)
	}
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func create(t *testing.T, s gitcache.Store, id string) gitcache.Repository {
	t.Helper()
	r, err := s.CreateRepository(t.Context(), gitcache.Repository{ID: id, Name: "name-" + id, Kind: record.Git,
		URL: "https://git.example.test/" + id, Auth: record.AuthBasic}, gitcache.Credentials{Username: "u", Password: "secret-" + id})
	check(t, err)
	return r
}

func put(t *testing.T, s gitcache.Store, repo, folder string) gitcache.Source {
	t.Helper()
	src, err := gitcache.NewSource(repo, "main", folder, []string{"values.yaml"})
	check(t, err)
	check(t, s.PutSource(t.Context(), src))
	return src
}

func acquire(t *testing.T, s gitcache.Store, repo string, h gitcache.Holder) int64 {
	t.Helper()
	epoch, err := record.AcquireOne(t.Context(), s, repo, h, time.Minute, 0)
	check(t, err)
	return epoch
}

func someHead(src gitcache.Source, content string) (gitcache.Head, gitcache.Artifact) {
	b := digest.New()
	_ = b.Add(content, digest.File, digest.SumOf([]byte(content)))
	commit := fmt.Sprintf("%040x", len(content))
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)
	return gitcache.Head{SourceID: src.ID, RepositoryID: src.RepositoryID, Revision: commit, Message: "say " + content, Author: "A <a@example.test>",
			CommittedAt: at, Digest: b.Digest(), Size: 12, Entry: "overlays/prod", Key: "k1:" + content, FetchSeq: 3, FetchedAt: at},
		gitcache.Artifact{Digest: b.Digest(), Size: 12, Files: 1, Bytes: 34,
			Recipe: gitcache.Recipe{Kind: record.Git, RepositoryID: src.RepositoryID, Commit: commit, Folder: src.Folder, Files: src.Files}}
}

func suiteRepositories(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	a := create(t, s, "a")
	if a.CreatedAt.IsZero() || a.UpdatedAt.IsZero() || a.Generation != 1 || a.Health.State != record.Unknown {
		t.Fatalf("new repository is %+v", a)
	}
	got, err := s.Repository(ctx, "a")
	check(t, err)
	equal(t, a, got)
	_, err = s.CreateRepository(ctx, gitcache.Repository{ID: "b", Name: a.Name, URL: "https://x.test"}, gitcache.Credentials{})
	wantCode(t, err, errcode.Conflict)
	b := create(t, s, "b")
	all, err := s.Repositories(ctx)
	check(t, err)
	equal(t, []gitcache.Repository{a, b}, all)
	for _, want := range []gitcache.Repository{a, b} {
		named, err := s.RepositoriesNamed(ctx, nil, []string{" " + strings.Replace(want.URL, "https://", "HTTPS://", 1) + "/ "})
		check(t, err)
		equal(t, true, slices.ContainsFunc(named, func(r gitcache.Repository) bool { return r.ID == want.ID }))
		named, err = s.RepositoriesNamed(ctx, []string{want.Name, "nowhere"}, []string{"https://nowhere.test"})
		check(t, err)
		equal(t, []gitcache.Repository{want}, named)
	}
	for _, name := range []string{"nowhere", "", a.URL} {
		found, err := s.RepositoriesNamed(ctx, []string{name}, nil)
		check(t, err)
		equal(t, 0, len(found))
	}
	before := f.Announced(t)
	renamed := a
	renamed.Name = "zz"
	renamed, err = s.UpdateRepository(ctx, renamed, nil)
	check(t, err)
	if renamed.Generation != 1 || f.Announced(t) != before+1 {
		t.Fatalf("a new name gave generation %d and %d feed rows", renamed.Generation, f.Announced(t)-before)
	}
	renamed.URL = "https://other.test/a"
	renamed, err = s.UpdateRepository(ctx, renamed, &gitcache.Credentials{})
	check(t, err)
	if renamed.Generation != 2 {
		t.Fatalf("a new URL gave generation %d", renamed.Generation)
	}
	renamed.Name = b.Name
	_, err = s.UpdateRepository(ctx, renamed, nil)
	wantCode(t, err, errcode.Conflict)
	_, err = s.UpdateRepository(ctx, gitcache.Repository{ID: "none", Name: "n"}, nil)
	wantCode(t, err, errcode.NotFound)
	_, err = s.Repository(ctx, "none")
	wantCode(t, err, errcode.NotFound)
}

func suiteCredentials(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	r := create(t, s, "a")
	c, err := s.Credentials(ctx, "a")
	check(t, err)
	if c.Username != "u" || c.Password != "secret-a" {
		t.Fatal("credentials came back changed")
	}
	want := gitcache.Credentials{PrivateKey: "key\nlines", Passphrase: "p", KnownHosts: "h", CA: "ca", Password: "pässword\n"}
	r, err = s.UpdateRepository(ctx, r, &want)
	check(t, err)
	if c, err = s.Credentials(ctx, "a"); err != nil || c != want || r.Generation != 2 {
		t.Fatalf("new credentials: %v, same %v, generation %d", err, c == want, r.Generation)
	}
	_, err = s.Credentials(ctx, "none")
	wantCode(t, err, errcode.NotFound)
}

func suiteDelete(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	create(t, s, "a")
	src := put(t, s, "a", "x")
	f.Refer(t, src.ID, 1)
	wantCode(t, s.DeleteRepository(ctx, "a"), errcode.Conflict)
	f.Refer(t, src.ID, -1)
	h, a := someHead(src, "one")
	check(t, s.WriteHeads(ctx, "a", acquire(t, s, "a", first), []gitcache.Head{h}, []gitcache.Artifact{a}))
	check(t, s.DeleteRepository(ctx, "a"))
	wantCode(t, s.DeleteRepository(ctx, "a"), errcode.NotFound)
	_, err := s.Head(ctx, src.ID)
	wantCode(t, err, errcode.NotFound)
	_, err = s.Artifact(ctx, a.Digest)
	wantCode(t, err, errcode.NotFound)
	_, err = s.Source(ctx, src.ID)
	wantCode(t, err, errcode.NotFound)
}

func suiteSources(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	create(t, s, "a")
	create(t, s, "b")
	before := f.Announced(t)
	src := put(t, s, "a", "x")
	put(t, s, "a", "x")
	if n := f.Announced(t) - before; n != 1 {
		t.Fatalf("putting one source twice announced %d", n)
	}
	put(t, s, "b", "x")
	got, err := s.Sources(ctx, "a")
	check(t, err)
	equal(t, []gitcache.Source{src}, got)
	one, err := s.Source(ctx, src.ID)
	check(t, err)
	equal(t, src, one)
	odd, err := gitcache.NewSource("a", "refs/heads/-x", "new\nline/ünï", nil)
	check(t, err)
	check(t, s.PutSource(ctx, odd))
	one, err = s.Source(ctx, odd.ID)
	check(t, err)
	equal(t, odd, one)
	wantCode(t, s.PutSource(ctx, gitcache.Source{ID: "src_x", RepositoryID: "none", Ref: "main"}), errcode.NotFound)

	f.Refer(t, src.ID, 1)
	if n, err := s.DropSources(ctx, time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Fatalf("dropped %d young sources, %v", n, err)
	}
	if n, err := s.DropSources(ctx, time.Now().Add(time.Hour)); n != 2 || err != nil {
		t.Fatalf("dropped %d sources, want the 2 that no service follows; %v", n, err)
	}
	got, err = s.Sources(ctx, "a")
	check(t, err)
	equal(t, []gitcache.Source{src}, got)
}

func suiteHeads(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	create(t, s, "a")
	src := put(t, s, "a", "x")
	_, err := s.Head(ctx, src.ID)
	wantCode(t, err, errcode.NotFound)
	epoch := acquire(t, s, "a", first)
	h, a := someHead(src, "one")
	before := f.Announced(t)
	check(t, s.WriteHeads(ctx, "a", epoch, []gitcache.Head{h}, []gitcache.Artifact{a}))
	if f.Announced(t) == before {
		t.Fatal("a written head was not announced")
	}
	got, err := s.Head(ctx, src.ID)
	check(t, err)
	if got.UpdatedAt.IsZero() || got.Epoch != epoch {
		t.Fatalf("head is %+v", got)
	}
	h.UpdatedAt, h.Epoch = got.UpdatedAt, epoch
	equal(t, h, got)
	bad := h
	bad.Error, bad.ErrorCode, bad.ErrorSince = "folder x is empty", errcode.Unprocessable, h.FetchedAt
	check(t, s.WriteHeads(ctx, "a", epoch, []gitcache.Head{bad}, nil))
	all, err := s.Heads(ctx, "a")
	check(t, err)
	if len(all) != 1 || all[0].Error != bad.Error || all[0].ErrorCode != bad.ErrorCode || !all[0].ErrorSince.Equal(bad.ErrorSince) || all[0].Digest != h.Digest {
		t.Fatalf("heads are %+v", all)
	}
	gone := h
	gone.SourceID = "src_gone"
	check(t, s.WriteHeads(ctx, "a", epoch, []gitcache.Head{gone}, nil))
	if all, _ = s.Heads(ctx, "a"); len(all) != 1 {
		t.Fatal("a head was written for a source that does not exist")
	}
}

func suiteOldEpoch(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	create(t, s, "a")
	src := put(t, s, "a", "x")
	old := acquire(t, s, "a", first)
	check(t, record.ReleaseOne(ctx, s, "a", first, old))
	epoch := acquire(t, s, "a", second)
	if epoch <= old {
		t.Fatalf("epoch %d after %d", epoch, old)
	}
	h, a := someHead(src, "one")
	wantCode(t, s.WriteHeads(ctx, "a", old, []gitcache.Head{h}, []gitcache.Artifact{a}), errcode.Conflict)
	wantCode(t, s.WriteHealth(ctx, "a", old, gitcache.Health{State: record.Failed}), errcode.Conflict)
	if _, err := s.Artifact(ctx, a.Digest); !errcode.Is(err, errcode.NotFound) {
		t.Fatalf("a refused write left its artifact: %v", err)
	}
	check(t, s.WriteHeads(ctx, "a", epoch, []gitcache.Head{h}, []gitcache.Artifact{a}))
}

func suiteManyHeads(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	create(t, s, "a")
	epoch := acquire(t, s, "a", first)
	var heads []gitcache.Head
	var arts []gitcache.Artifact
	for i := range 120 {
		h, a := someHead(put(t, s, "a", fmt.Sprintf("f%03d", i)), fmt.Sprintf("c%d", i%7))
		heads, arts = append(heads, h), append(arts, a)
	}
	check(t, s.WriteHeads(ctx, "a", epoch, heads, arts))
	got, err := s.Heads(ctx, "a")
	check(t, err)
	if len(got) != len(heads) {
		t.Fatalf("%d heads, want %d", len(got), len(heads))
	}
	for i := 1; i < len(got); i++ {
		if got[i-1].SourceID >= got[i].SourceID {
			t.Fatal("heads are not sorted by source")
		}
	}
	// More ids than one statement may have, some of them without a head.
	asked := []string{got[3].SourceID, got[100].SourceID}
	for i := range 1200 {
		asked = append(asked, fmt.Sprintf("none-%d", i))
	}
	asked = append(asked, got[7].SourceID)
	some, err := s.HeadsOf(ctx, asked)
	check(t, err)
	slices.SortFunc(some, func(a, b gitcache.Head) int { return strings.Compare(a.SourceID, b.SourceID) })
	equal(t, []gitcache.Head{got[3], got[7], got[100]}, some)
	if some, err := s.HeadsOf(ctx, nil); err != nil || len(some) != 0 {
		t.Fatalf("heads of nothing: %v, %v", some, err)
	}
}

func suitePins(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	create(t, s, "a")
	create(t, s, "b")
	src := put(t, s, "a", "x")
	epoch := acquire(t, s, "a", first)
	h, a := someHead(src, "one")
	part := gitcache.Pin{Digest: digest.Digest(digest.Prefix + strings.Repeat("ab", 32)), RepositoryID: "b", Commit: fmt.Sprintf("%040x", 7)}
	a.Recipe.Parts = []record.Part{{Path: "charts/x", Digest: part.Digest, Recipe: gitcache.Recipe{Kind: record.Git, RepositoryID: "b", Commit: part.Commit}}}
	check(t, s.WriteHeads(ctx, "a", epoch, []gitcache.Head{h}, []gitcache.Artifact{a}))
	got, err := s.Artifact(ctx, a.Digest)
	check(t, err)
	if got.CreatedAt.IsZero() {
		t.Fatal("the artifact has no age")
	}
	a.CreatedAt = got.CreatedAt
	equal(t, a, got)
	a.Recipe.Commit = fmt.Sprintf("%040x", 99)
	check(t, s.WriteHeads(ctx, "a", epoch, nil, []gitcache.Artifact{a}))
	got, err = s.Artifact(ctx, a.Digest)
	check(t, err)
	equal(t, a, got)

	f.Pin(t, a.Digest, true)
	pins, err := s.Pins(ctx, "a")
	check(t, err)
	equal(t, []gitcache.Pin{{Digest: a.Digest, RepositoryID: "a", Commit: a.Recipe.Commit}}, pins)
	// A part is needed as long as the content that includes it.
	pins, err = s.Pins(ctx, "b")
	check(t, err)
	equal(t, []gitcache.Pin{part}, pins)
	if pins, err = s.Pins(ctx, "c"); err != nil || len(pins) != 0 {
		t.Fatalf("pins of another repository: %v, %v", pins, err)
	}
	kept, err := s.Pinned(ctx, []digest.Digest{digest.Digest(digest.Prefix + strings.Repeat("cd", 32)), a.Digest})
	check(t, err)
	equal(t, []digest.Digest{a.Digest}, kept)
}

func suiteHealth(t *testing.T, f Fixture) {
	ctx, s := t.Context(), f.Store
	create(t, s, "a")
	epoch := acquire(t, s, "a", first)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := gitcache.Health{State: record.Failed, Message: "could not resolve host", CheckedAt: at, FetchedAt: at, FailedSince: at, NextAt: at, Bytes: 7}
	before := f.Announced(t)
	check(t, s.WriteHealth(ctx, "a", epoch, want))
	r, err := s.Repository(ctx, "a")
	check(t, err)
	equal(t, want, r.Health)
	want.CheckedAt = at.Add(time.Minute)
	check(t, s.WriteHealth(ctx, "a", epoch, want))
	if n := f.Announced(t) - before; n != 1 {
		t.Fatalf("two writes, one of them news, announced %d", n)
	}
}
