package store_test

import (
	"context"
	"testing"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// storedSources are sources whose heads are in the database, as in the hub.
type storedSources struct {
	store      *store.Store
	repository gitcache.Repository
	epoch      int64
}

func (s *storedSources) of(folder string) (gitcache.Source, error) {
	return gitcache.Source{RepositoryID: s.repository.ID, Ref: "main", Folder: folder}.Settle(record.Git)
}

func (s *storedSources) Follow(ctx context.Context, w fleet.SourceWant) (sourceID, repositoryID string, err error) {
	source, err := s.of(w.Folder)
	if err != nil {
		return "", "", err
	}
	return source.ID, s.repository.ID, s.store.PutSource(ctx, source)
}

func (s *storedSources) Moved(ctx context.Context, after string, limit int) ([]string, error) {
	return s.store.MovedSources(ctx, after, limit)
}

func (s *storedSources) Followed(ctx context.Context, ids []string) error {
	return s.store.FollowedSources(ctx, ids)
}

func (s *storedSources) Upstreams(context.Context, []string) (map[string]fleet.Upstream, error) {
	return nil, nil
}

func (s *storedSources) Heads(ctx context.Context, ids []string) (map[string]fleet.Head, error) {
	stored, err := s.store.HeadsOf(ctx, ids)
	heads := map[string]fleet.Head{}
	for _, h := range stored {
		heads[h.SourceID] = fleet.Head{SourceID: h.SourceID, Content: fleet.Content{RepositoryID: h.RepositoryID, SourceRevision: h.Revision, Digest: h.Digest.String()}}
	}
	return heads, err
}

// crossing is a fleet on Postgres whose transactions are overtaken. On SQLite
// they wait for one another.
type crossing struct {
	*yard
	sources  *storedSources
	database storetest.Database
}

func newCrossing(t *testing.T) *crossing {
	t.Helper()
	d := storetest.Postgres(t)
	y := newYard(t, d)
	c := &crossing{y, &storedSources{store: y.store}, d}
	var err error
	if c.sources.repository, err = y.store.CreateRepository(t.Context(), gitcache.Repository{ID: "repo_main", Name: "main", Kind: record.Git, URL: "https://git.example.test/main"}, gitcache.Credentials{}); err != nil {
		t.Fatal(err)
	}
	if c.sources.epoch, err = record.AcquireOne(t.Context(), y.store, c.sources.repository.ID, gitcache.Holder{Replica: "hub-0", Boot: "1"}, 1<<40, 1<<40); err != nil {
		t.Fatal(err)
	}
	y.Fleet = y.fleetOf(c.sources)
	y.cluster("edge-1")
	for _, folder := range []string{"web", "shop"} {
		source, err := c.sources.of(folder)
		if err == nil {
			err = y.store.PutSource(t.Context(), source)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// moved writes a folder's head and updates the services, like the hub.
func (c *crossing) moved(folder, content string) {
	c.t.Helper()
	ctx := c.t.Context()
	source, err := c.sources.of(folder)
	if err == nil {
		err = c.store.WriteHeads(ctx, c.sources.repository.ID, c.sources.epoch, []gitcache.Head{{
			SourceID: source.ID, RepositoryID: c.sources.repository.ID, Revision: "of " + content, Digest: contentDigest(content),
		}}, nil)
	}
	if err == nil {
		err = c.HeadMoved(ctx, source.ID)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func contentDigest(content string) digest.Digest {
	sums := digest.New()
	_ = sums.Add("content", digest.File, digest.SumOf([]byte(content)))
	return sums.Digest()
}

// overtaken runs change in a transaction and, before it commits for the first
// time, meanwhile. It returns how often change ran.
func (c *crossing) overtaken(change func(ctx context.Context) error, meanwhile func()) (runs int, err error) {
	err = c.store.Write(c.t.Context(), func(ctx context.Context) error {
		err := change(ctx)
		if runs++; runs == 1 {
			meanwhile()
		}
		return err
	})
	return runs, err
}

func (c *crossing) get(name string) fleet.Service {
	c.t.Helper()
	s, err := c.store.ServiceByRef(c.t.Context(), fleet.Ref{Cluster: "edge-1", Name: name})
	if err != nil {
		c.t.Fatal(err)
	}
	return s.Service
}

func (c *crossing) has(name, content string) {
	c.t.Helper()
	if s := c.get(name); s.Desired.Digest != contentDigest(content).String() {
		c.t.Errorf("service %s is at %q (revision %d), not at %s", name, s.Desired.SourceRevision, s.Revision, content)
	}
}

func creation(name, folder string) fleet.ServiceRequest {
	return fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: name}, Spec: spec(folder)}
}

// A moved head updates the existing services. One that is committed a moment
// later began with the previous head, or none, and would not be checked again
// until the next commit.
func TestServiceIsCreatedWhileItsHeadMoves(t *testing.T) {
	for name, before := range map[string]string{"first content": "", "next content": "old"} {
		t.Run(name, func(t *testing.T) {
			c := newCrossing(t)
			if before != "" {
				c.moved("web", before)
			}
			runs, err := c.overtaken(func(ctx context.Context) error {
				_, err := c.CreateService(ctx, "ann", creation("web", "web"))
				return err
			}, func() { c.moved("web", "new") })
			if err != nil || runs != 2 {
				t.Fatalf("%d runs, %v", runs, err)
			}
			c.has("web", "new")
		})
	}
}

func TestServiceFollowsAnotherSourceWhileItsHeadMoves(t *testing.T) {
	c := newCrossing(t)
	c.moved("web", "old")
	c.must(c.CreateService(t.Context(), "ann", creation("web", "web")))
	_, err := c.overtaken(func(ctx context.Context) error {
		_, _, err := c.ApplyService(ctx, "ann", creation("web", "shop"))
		return err
	}, func() { c.moved("shop", "new") })
	if err != nil {
		t.Fatal(err)
	}
	c.has("web", "new")
}

func TestServiceIsResumedWhileItsHeadMoves(t *testing.T) {
	c := newCrossing(t)
	c.moved("web", "one")
	c.must(c.CreateService(t.Context(), "ann", creation("web", "web")))
	c.moved("web", "two")
	ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
	c.must(c.RollbackService(t.Context(), "ann", ref, 0))
	_, err := c.overtaken(func(ctx context.Context) error {
		_, err := c.ResumeService(ctx, "ann", ref)
		return err
	}, func() { c.moved("web", "three") })
	if err != nil {
		t.Fatal(err)
	}
	c.has("web", "three")
}

// The spec digest covers the cluster's data, whichever of the two is last.
func TestServiceIsCreatedWhileItsClusterChanges(t *testing.T) {
	tags := func(tier string) fleet.ClusterChange {
		return fleet.ClusterChange{Tags: &map[string]string{"tier": tier}}
	}
	for name, cross := range map[string]func(c *crossing) error{
		"the cluster first": func(c *crossing) error {
			_, err := c.overtaken(func(ctx context.Context) error {
				_, err := c.CreateService(ctx, "ann", creation("web", "web"))
				return err
			}, func() {
				if _, err := c.UpdateCluster(c.t.Context(), "ann", "edge-1", tags("prod")); err != nil {
					c.t.Fatal(err)
				}
			})
			return err
		},
		"the service first": func(c *crossing) error {
			_, err := c.overtaken(func(ctx context.Context) error {
				_, err := c.UpdateCluster(ctx, "ann", "edge-1", tags("prod"))
				return err
			}, func() { c.must(c.CreateService(c.t.Context(), "ann", creation("web", "web"))) })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrossing(t)
			if err := cross(c); err != nil {
				t.Fatal(err)
			}
			got := c.get("web").SpecDigest
			for _, tier := range []string{"dev", "prod"} {
				if _, err := c.UpdateCluster(t.Context(), "ann", "edge-1", tags(tier)); err != nil {
					t.Fatal(err)
				}
			}
			if want := c.get("web").SpecDigest; got != want {
				t.Errorf("spec digest %s, with the cluster's data it is %s", got, want)
			}
		})
	}
}

func TestServiceIsCreatedWhileItsClusterGoes(t *testing.T) {
	create := func(c *crossing) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.CreateService(ctx, "ann", creation("web", "web"))
			return err
		}
	}
	drop := func(c *crossing) func(ctx context.Context) error {
		return func(ctx context.Context) error { return c.DeleteCluster(ctx, "ann", "edge-1", false) }
	}
	for name, tc := range map[string]struct {
		first, second func(c *crossing) func(ctx context.Context) error
		want          errcode.Code
	}{
		"created last": {drop, create, errcode.NotFound},
		"deleted last": {create, drop, errcode.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrossing(t)
			_, err := c.overtaken(tc.second(c), func() {
				if err := tc.first(c)(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
			if !errcode.Is(err, tc.want) {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

// When a project is deleted while something moves to it, one of the two
// transactions must notice.
func TestProjectGoesWhileSomethingComesToIt(t *testing.T) {
	drop := func(c *crossing) func(ctx context.Context) error {
		return func(ctx context.Context) error { return c.DeleteProject(ctx, "ann", "shop") }
	}
	for name, come := range map[string]func(c *crossing) func(ctx context.Context) error{
		"a service": func(c *crossing) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				r := creation("web", "web")
				r.Project = "shop"
				_, err := c.CreateService(ctx, "ann", r)
				return err
			}
		},
		"a service of another project": func(c *crossing) func(ctx context.Context) error {
			c.must(c.CreateService(c.t.Context(), "ann", creation("web", "web")))
			return func(ctx context.Context) error {
				r := creation("web", "web")
				r.Project = "shop"
				_, _, err := c.ApplyService(ctx, "ann", r)
				return err
			}
		},
		"a cluster": func(c *crossing) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				_, err := c.CreateCluster(ctx, "ann", fleet.NewCluster{Name: "edge-9", Project: "shop"})
				return err
			}
		},
	} {
		for order, want := range map[string]errcode.Code{"comes last": errcode.NotFound, "goes last": errcode.Conflict} {
			t.Run(name+" "+order, func(t *testing.T) {
				c := newCrossing(t)
				if _, err := c.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop"}); err != nil {
					t.Fatal(err)
				}
				first, second := drop(c), come(c)
				if order == "goes last" {
					first, second = second, first
				}
				_, err := c.overtaken(second, func() {
					if err := first(t.Context()); err != nil {
						t.Fatal(err)
					}
				})
				if !errcode.Is(err, want) {
					t.Errorf("%v, want %s", err, want)
				}
			})
		}
	}
}

// Narrower limits check the existing services; a service that is created
// meanwhile checks the previous limits.
func TestServiceIsCreatedWhileItsProjectNarrows(t *testing.T) {
	narrow := func(c *crossing) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.UpdateProject(ctx, "ann", "default", fleet.ProjectChange{Limits: &fleet.Limits{Namespaces: []string{"other"}}})
			return err
		}
	}
	create := func(c *crossing) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.CreateService(ctx, "ann", creation("web", "web"))
			return err
		}
	}
	for name, tc := range map[string]struct {
		first, second func(c *crossing) func(ctx context.Context) error
		want          errcode.Code
	}{
		"created last":  {narrow, create, errcode.Forbidden},
		"narrowed last": {create, narrow, errcode.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrossing(t)
			_, err := c.overtaken(tc.second(c), func() {
				if err := tc.first(c)(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
			if !errcode.Is(err, tc.want) {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

func TestOnlyWhatATransactionReliesOnMakesItRunAgain(t *testing.T) {
	c := newCrossing(t)
	create := func(ctx context.Context) error {
		_, err := c.CreateService(ctx, "ann", creation("web", "web"))
		return err
	}
	runs, err := c.overtaken(create, func() {
		c.moved("shop", "new")
		c.must(c.CreateService(t.Context(), "ann", creation("shop", "shop")))
		c.cluster("edge-2")
	})
	if err != nil || runs != 1 {
		t.Errorf("%d runs, %v", runs, err)
	}
}

// Rely works for a part of a batch as for a separate transaction.
func TestPartOfABatchRelies(t *testing.T) {
	c := newCrossing(t)
	runs, other := 0, event.Change{Kind: event.KindProject, Key: "other"}
	err := c.store.WriteBatched(t.Context(), func(ctx context.Context) error {
		// The view begins with the first question.
		if _, err := c.store.Position(ctx); err != nil {
			return err
		}
		if runs++; runs == 1 {
			if err := c.store.Write(t.Context(), func(ctx context.Context) error { return event.Append(ctx, other) }); err != nil {
				return err
			}
		}
		if err := event.Rely(ctx, event.Change{Kind: event.KindProject}); err != nil {
			return err
		}
		return event.Append(ctx, event.Change{Kind: event.KindProject, Key: "mine"})
	})
	if err != nil || runs != 2 {
		t.Errorf("%d runs, %v", runs, err)
	}
}
