// Package depend decides when a service waits for services on other clusters. Their
// agents cannot see each other, so the hub gives no revision to a service until what it
// depends on runs and is healthy. For services on one cluster the agent decides, also
// while the hub is away. hub/fleet asks before each revision, and tells which services
// became ready; this package wakes those that wait for them. It makes no revisions.
//
// Invariants:
//   - A service that runs keeps what it runs while it waits.
//   - A report costs one query more, and only where a service became ready in it. What
//     has to be looked at again is in the database before the report is answered.
//   - A declaration that closes a circle is refused, over any number of clusters; at most
//     1,000 services are followed to find it.
//
// A Stale cluster does not make its services unready: nothing would wake who waits.
package depend

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxFollowed is how many services a search for a circle reads.
const maxFollowed = 1000

// Store reads services, and notes which to look at again.
type Store interface {
	fleet.ServiceReader
	// StatusesByID is that of fleet.StatusReader.
	StatusesByID(ctx context.Context, serviceIDs []string) (map[string]fleet.StoredStatus, error)
	// FollowAgain marks the sources of the services that use one of the names as moved,
	// and returns them.
	FollowAgain(ctx context.Context, kind string, names []string) ([]string, error)
}

// Dependencies implements fleet.Dependencies.
type Dependencies struct{ store Store }

// New returns the dependencies of the services of a store.
func New(s Store) *Dependencies { return &Dependencies{s} }

// Waits implements fleet.Dependencies.
func (d *Dependencies) Waits(ctx context.Context, s fleet.Service, writing bool) (string, error) {
	for _, on := range s.Spec.Dependencies {
		if on.Cluster == "" {
			continue
		}
		why, err := d.why(ctx, fleet.Ref{Cluster: on.Cluster, Name: on.Name}, writing)
		if err != nil {
			return "", err
		}
		if why != "" {
			return fmt.Sprintf("waits for service %s/%s, which %s", on.Cluster, on.Name, why), nil
		}
	}
	return "", nil
}

// why returns why a service is not ready, empty for one that is.
func (d *Dependencies) why(ctx context.Context, ref fleet.Ref, writing bool) (string, error) {
	s, err := d.store.ServiceByRef(ctx, ref)
	if errcode.Is(err, errcode.NotFound) {
		return "does not exist", nil
	}
	if err != nil {
		return "", err
	}
	if writing {
		if err := event.DependsOn(ctx, event.Change{Kind: event.KindStatus, Cluster: s.ClusterID}); err != nil {
			return "", err
		}
	}
	statuses, err := d.store.StatusesByID(ctx, []string{s.ID})
	status, reported := statuses[s.ID]
	switch {
	case err != nil:
		return "", err
	case s.Deleting != "":
		return "is being deleted", nil
	case s.Spec.DryRun:
		return "is on a dry run", nil
	case s.Revision == 0 || !reported || status.TarballDigest == "":
		return "is not applied yet", nil
	case status.TarballDigest != s.Desired.Digest || status.SpecDigest != s.SpecDigest:
		return "has a newer revision to apply", nil
	case !status.Applied():
		return "is " + string(status.Sync), nil
	case status.Health != fleet.Healthy:
		return "is " + string(status.Health), nil
	}
	return "", nil
}

// Ready implements fleet.Dependencies.
func (d *Dependencies) Ready(ctx context.Context, services []fleet.Ref) error {
	if len(services) == 0 {
		return nil
	}
	names := make([]string, len(services))
	for i, s := range services {
		names[i] = s.String()
	}
	slices.Sort(names)
	sources, err := d.store.FollowAgain(ctx, fleet.UseService, names)
	if err != nil {
		return err
	}
	for _, id := range sources {
		if err := event.Append(ctx, event.Change{Kind: event.KindHead, Key: id}); err != nil {
			return err
		}
	}
	return nil
}

// Check implements fleet.Dependencies.
func (d *Dependencies) Check(ctx context.Context, cluster fleet.Cluster, name string, s fleet.Spec) error {
	if len(s.Dependencies) == 0 {
		return nil
	}
	c := &search{store: d.store, on: map[fleet.Ref][]fleet.Ref{}, goal: fleet.Ref{Cluster: cluster.Name, Name: name}}
	c.on[c.goal] = refs(cluster.Name, s)
	// Most dependencies are on the same cluster, whose services are read at once.
	services, err := d.store.ServicesOfCluster(ctx, cluster.ID, nil)
	if err != nil {
		return err
	}
	for _, other := range services {
		if other.Name != name {
			c.on[other.Ref()] = refs(cluster.Name, other.Spec)
		}
	}
	found, err := c.path(ctx, c.goal, []string{name})
	if err == nil && found != nil {
		return specrules.Field("dependencies", "services would wait for each other: %s", strings.Join(found, " → "))
	}
	return err
}

// refs are the services that a service of a cluster depends on.
func refs(cluster string, s fleet.Spec) []fleet.Ref {
	var all []fleet.Ref
	for _, on := range s.Dependencies {
		all = append(all, fleet.Ref{Cluster: cmp.Or(on.Cluster, cluster), Name: on.Name})
	}
	return all
}

// search looks for a path from a service back to itself.
type search struct {
	store Store
	goal  fleet.Ref
	// on are the dependencies of the services that were read.
	on map[fleet.Ref][]fleet.Ref
	// read counts those that were read one by one.
	read int
	seen map[fleet.Ref]bool
}

func (c *search) path(ctx context.Context, from fleet.Ref, trail []string) ([]string, error) {
	if c.seen == nil {
		c.seen = map[fleet.Ref]bool{}
	}
	next, err := c.dependencies(ctx, from)
	if err != nil {
		return nil, err
	}
	for _, ref := range next {
		trail := append(trail[:len(trail):len(trail)], c.words(ref))
		if ref == c.goal {
			return trail, nil
		}
		if c.seen[ref] {
			continue
		}
		c.seen[ref] = true
		if found, err := c.path(ctx, ref, trail); found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// words is how a service is named in a message: with its cluster where it differs.
func (c *search) words(ref fleet.Ref) string {
	if ref.Cluster == c.goal.Cluster {
		return ref.Name
	}
	return ref.String()
}

func (c *search) dependencies(ctx context.Context, ref fleet.Ref) ([]fleet.Ref, error) {
	if known, ok := c.on[ref]; ok || ref.Cluster == c.goal.Cluster {
		return known, nil // what its cluster does not have may be created later
	}
	if c.read++; c.read > maxFollowed {
		return nil, errcode.New(errcode.Invalid, "dependencies: more than %d services on other clusters are waited for, directly and indirectly", maxFollowed)
	}
	s, err := c.store.ServiceByRef(ctx, ref)
	if errcode.Is(err, errcode.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.on[ref] = refs(ref.Cluster, s.Spec)
	return c.on[ref], nil
}
