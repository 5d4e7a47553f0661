package fleettest

import (
	"context"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/digest"
)

// Stored are sources whose heads are in the database, as in the hub.
type Stored struct {
	store      *store.Store
	repository gitcache.Repository
	epoch      int64
}

func (s *Stored) of(folder string) (gitcache.Source, error) {
	return gitcache.Source{RepositoryID: s.repository.ID, Ref: "main", Folder: folder}.Settle(record.Git)
}

// Repository is the id of the repository of all sources.
func (s *Stored) Repository() string { return s.repository.ID }

// Epoch is that of the repository's lease.
func (s *Stored) Epoch() int64 { return s.epoch }

// Bind implements fleet.Sources.
func (s *Stored) Bind(context.Context, fleet.SourceWant) (repositoryID string, err error) {
	return s.repository.ID, nil
}

// Follow implements fleet.Sources.
func (s *Stored) Follow(ctx context.Context, w fleet.SourceWant, _ string) (sourceID string, err error) {
	source, err := s.of(w.Folder)
	if err != nil {
		return "", err
	}
	return source.ID, s.store.PutSource(ctx, source)
}

// Moved implements fleet.Sources.
func (s *Stored) Moved(ctx context.Context, after string, limit int) ([]string, error) {
	return s.store.MovedSources(ctx, after, limit)
}

// Followed implements fleet.Sources.
func (s *Stored) Followed(ctx context.Context, ids []string) error {
	return s.store.FollowedSources(ctx, ids)
}

// Upstreams implements fleet.Sources.
func (s *Stored) Upstreams(context.Context, []string) (map[string]fleet.Upstream, error) {
	return nil, nil
}

// Heads implements fleet.Sources.
func (s *Stored) Heads(ctx context.Context, ids []string) (map[string]fleet.Head, error) {
	stored, err := s.store.HeadsOf(ctx, ids)
	heads := map[string]fleet.Head{}
	for _, h := range stored {
		heads[h.SourceID] = fleet.Head{SourceID: h.SourceID, Content: fleet.Content{RepositoryID: h.RepositoryID, SourceRevision: h.Revision, Digest: h.Digest.String()}}
	}
	return heads, err
}

// Contended is a fleet on Postgres, with the cluster edge-1, whose transactions others
// overtake. On SQLite they wait for one another.
type Contended struct {
	*Fleet
	Sources *Stored
}

// NewContended returns one whose repository has the folders web and shop.
func NewContended(t *testing.T) *Contended {
	t.Helper()
	f := New(t, storetest.Postgres(t))
	c := &Contended{f, &Stored{store: f.Store}}
	var err error
	if c.Sources.repository, err = f.Store.CreateRepository(t.Context(), gitcache.Repository{ID: "repo_main", Name: "main", Kind: record.Git, URL: "https://git.example.test/main"}, gitcache.Credentials{}); err != nil {
		t.Fatal(err)
	}
	if c.Sources.epoch, err = record.AcquireOne(t.Context(), f.Store, c.Sources.repository.ID, gitcache.Holder{Replica: "hub-0", Boot: "1"}, 1<<40, 1<<40); err != nil {
		t.Fatal(err)
	}
	f.Use(c.Sources)
	f.AddCluster("edge-1")
	for _, folder := range []string{"web", "shop"} {
		if _, err := c.Sources.Follow(t.Context(), fleet.SourceWant{Folder: folder}, c.Sources.Repository()); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// Replica returns the same fleet as another replica has it, with a store of its own.
func (c *Contended) Replica(d storetest.Database) *Contended {
	c.T.Helper()
	f := c.Fleet.Replica(d)
	other := &Contended{f, &Stored{store: f.Store, repository: c.Sources.repository, epoch: c.Sources.epoch}}
	f.Use(other.Sources)
	return other
}

// WriteHeads writes the heads of folders, like a git agent, without notifying the
// fleet.
func (c *Contended) WriteHeads(content string, folders ...string) {
	c.T.Helper()
	var heads []gitcache.Head
	for _, folder := range folders {
		source, err := c.Sources.of(folder)
		if err != nil {
			c.T.Fatal(err)
		}
		heads = append(heads, gitcache.Head{SourceID: source.ID, RepositoryID: c.Sources.repository.ID, Revision: "of " + content, Digest: ContentDigest(content), Author: "eve"})
	}
	for len(heads) > 0 {
		n := min(500, len(heads))
		if err := c.Store.WriteHeads(c.T.Context(), c.Sources.repository.ID, c.Sources.epoch, heads[:n], nil); err != nil {
			c.T.Fatal(err)
		}
		heads = heads[n:]
	}
}

// MoveHead writes a folder's head and updates the services, like the hub.
func (c *Contended) MoveHead(folder, content string) {
	c.T.Helper()
	c.WriteHeads(content, folder)
	source, err := c.Sources.of(folder)
	if err != nil {
		c.T.Fatal(err)
	}
	c.Tell(source.ID)
}

// Waiting are the sources whose services were not all moved.
func (c *Contended) Waiting() []string {
	c.T.Helper()
	ids, err := c.Store.MovedSources(c.T.Context(), "", 1000)
	if err != nil {
		c.T.Fatal(err)
	}
	return ids
}

// ContentDigest is the digest of a folder with some content.
func ContentDigest(content string) digest.Digest {
	sums := digest.New()
	_ = sums.Add("content", digest.File, digest.SumOf([]byte(content)))
	return sums.Digest()
}

// Overtaken runs change in a transaction and, before it commits for the first time,
// meanwhile. It returns how often change ran.
func (c *Contended) Overtaken(change func(ctx context.Context) error, meanwhile func()) (runs int, err error) {
	err = c.Store.Write(c.T.Context(), func(ctx context.Context) error {
		err := change(ctx)
		if runs++; runs == 1 {
			meanwhile()
		}
		return err
	})
	return runs, err
}

// Find returns a service of edge-1 as it is stored.
func (c *Contended) Find(name string) fleet.Service {
	c.T.Helper()
	s, err := c.Store.ServiceByRef(c.T.Context(), fleet.Ref{Cluster: "edge-1", Name: name})
	if err != nil {
		c.T.Fatal(err)
	}
	return s.Service
}

// WantContent checks which content a service of edge-1 has.
func (c *Contended) WantContent(name, content string) {
	c.T.Helper()
	if s := c.Find(name); s.Desired.Digest != ContentDigest(content).String() {
		c.T.Errorf("service %s is at %q (revision %d), not at %s", name, s.Desired.SourceRevision, s.Revision, content)
	}
}

// Creation declares a service on edge-1.
func Creation(name, folder string) fleet.ServiceRequest {
	return fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: name}, Spec: Spec(folder)}
}
