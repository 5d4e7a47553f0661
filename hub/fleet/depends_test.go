package fleet_test

import (
	"context"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/internal/errcode"
)

// A moved head updates the existing services. One that is committed a moment
// later began with the previous head, or none, and would not be checked again
// until the next commit.
func TestServiceIsCreatedWhileItsHeadMoves(t *testing.T) {
	for name, before := range map[string]string{"first content": "", "next content": "old"} {
		t.Run(name, func(t *testing.T) {
			c := fleettest.NewContended(t)
			if before != "" {
				c.MoveHead("web", before)
			}
			runs, err := c.Overtaken(func(ctx context.Context) error {
				_, err := c.CreateService(ctx, "ann", fleettest.Creation("web", "web"))
				return err
			}, func() { c.MoveHead("web", "new") })
			if err != nil || runs != 2 {
				t.Fatalf("%d runs, %v", runs, err)
			}
			c.WantContent("web", "new")
		})
	}
}

func TestServiceFollowsAnotherSourceWhileItsHeadMoves(t *testing.T) {
	c := fleettest.NewContended(t)
	c.MoveHead("web", "old")
	c.Must(c.CreateService(t.Context(), "ann", fleettest.Creation("web", "web")))
	_, err := c.Overtaken(func(ctx context.Context) error {
		_, _, err := c.ApplyService(ctx, "ann", fleettest.Creation("web", "shop"))
		return err
	}, func() { c.MoveHead("shop", "new") })
	if err != nil {
		t.Fatal(err)
	}
	c.WantContent("web", "new")
}

func TestServiceIsResumedWhileItsHeadMoves(t *testing.T) {
	c := fleettest.NewContended(t)
	c.MoveHead("web", "one")
	c.Must(c.CreateService(t.Context(), "ann", fleettest.Creation("web", "web")))
	c.MoveHead("web", "two")
	ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
	c.Must(c.RollbackService(t.Context(), "ann", ref, 0))
	_, err := c.Overtaken(func(ctx context.Context) error {
		_, err := c.ResumeService(ctx, "ann", ref)
		return err
	}, func() { c.MoveHead("web", "three") })
	if err != nil {
		t.Fatal(err)
	}
	c.WantContent("web", "three")
}

// The spec digest covers the cluster's data, whichever of the two is last.
func TestServiceIsCreatedWhileItsClusterChanges(t *testing.T) {
	tags := func(tier string) fleet.ClusterChange {
		return fleet.ClusterChange{Tags: &map[string]string{"tier": tier}, FleetWide: true}
	}
	for name, cross := range map[string]func(c *fleettest.Contended) error{
		"the cluster first": func(c *fleettest.Contended) error {
			_, err := c.Overtaken(func(ctx context.Context) error {
				_, err := c.CreateService(ctx, "ann", fleettest.Creation("web", "web"))
				return err
			}, func() {
				if _, err := c.UpdateCluster(c.T.Context(), "ann", "edge-1", tags("prod")); err != nil {
					c.T.Fatal(err)
				}
			})
			return err
		},
		"the service first": func(c *fleettest.Contended) error {
			_, err := c.Overtaken(func(ctx context.Context) error {
				_, err := c.UpdateCluster(ctx, "ann", "edge-1", tags("prod"))
				return err
			}, func() { c.Must(c.CreateService(c.T.Context(), "ann", fleettest.Creation("web", "web"))) })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := fleettest.NewContended(t)
			if err := cross(c); err != nil {
				t.Fatal(err)
			}
			got := c.Find("web").SpecDigest
			for _, tier := range []string{"dev", "prod"} {
				if _, err := c.UpdateCluster(t.Context(), "ann", "edge-1", tags(tier)); err != nil {
					t.Fatal(err)
				}
			}
			if want := c.Find("web").SpecDigest; got != want {
				t.Errorf("spec digest %s, with the cluster's data it is %s", got, want)
			}
		})
	}
}

func TestServiceIsCreatedWhileItsClusterGoes(t *testing.T) {
	create := func(c *fleettest.Contended) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.CreateService(ctx, "ann", fleettest.Creation("web", "web"))
			return err
		}
	}
	drop := func(c *fleettest.Contended) func(ctx context.Context) error {
		return func(ctx context.Context) error { return c.DeleteCluster(ctx, "ann", "edge-1", false) }
	}
	for name, tc := range map[string]struct {
		first, second func(c *fleettest.Contended) func(ctx context.Context) error
		want          errcode.Code
	}{
		"created last": {drop, create, errcode.NotFound},
		"deleted last": {create, drop, errcode.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			c := fleettest.NewContended(t)
			_, err := c.Overtaken(tc.second(c), func() {
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
	drop := func(c *fleettest.Contended) func(ctx context.Context) error {
		return func(ctx context.Context) error { return c.DeleteProject(ctx, "ann", "shop") }
	}
	for name, come := range map[string]func(c *fleettest.Contended) func(ctx context.Context) error{
		"a service": func(c *fleettest.Contended) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				r := fleettest.Creation("web", "web")
				r.Project = "shop"
				_, err := c.CreateService(ctx, "ann", r)
				return err
			}
		},
		"a service of another project": func(c *fleettest.Contended) func(ctx context.Context) error {
			c.Must(c.CreateService(c.T.Context(), "ann", fleettest.Creation("web", "web")))
			return func(ctx context.Context) error {
				r := fleettest.Creation("web", "web")
				r.Project = "shop"
				_, _, err := c.ApplyService(ctx, "ann", r)
				return err
			}
		},
		"a cluster": func(c *fleettest.Contended) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				_, err := c.CreateCluster(ctx, "ann", fleet.NewCluster{Name: "edge-9", Project: "shop"})
				return err
			}
		},
	} {
		for order, want := range map[string]errcode.Code{"comes last": errcode.NotFound, "goes last": errcode.Conflict} {
			t.Run(name+" "+order, func(t *testing.T) {
				c := fleettest.NewContended(t)
				if _, err := c.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop"}); err != nil {
					t.Fatal(err)
				}
				first, second := drop(c), come(c)
				if order == "goes last" {
					first, second = second, first
				}
				_, err := c.Overtaken(second, func() {
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
	narrow := func(c *fleettest.Contended) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.UpdateProject(ctx, "ann", "default", fleet.ProjectChange{Limits: &fleet.Limits{Namespaces: []string{"other"}}})
			return err
		}
	}
	create := func(c *fleettest.Contended) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.CreateService(ctx, "ann", fleettest.Creation("web", "web"))
			return err
		}
	}
	for name, tc := range map[string]struct {
		first, second func(c *fleettest.Contended) func(ctx context.Context) error
		want          errcode.Code
	}{
		"created last":  {narrow, create, errcode.Forbidden},
		"narrowed last": {create, narrow, errcode.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			c := fleettest.NewContended(t)
			_, err := c.Overtaken(tc.second(c), func() {
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
	c := fleettest.NewContended(t)
	create := func(ctx context.Context) error {
		_, err := c.CreateService(ctx, "ann", fleettest.Creation("web", "web"))
		return err
	}
	runs, err := c.Overtaken(create, func() {
		c.MoveHead("shop", "new")
		c.Must(c.CreateService(t.Context(), "ann", fleettest.Creation("shop", "shop")))
		c.AddCluster("edge-2")
	})
	if err != nil || runs != 1 {
		t.Errorf("%d runs, %v", runs, err)
	}
}
