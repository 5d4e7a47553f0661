package fleet

import (
	"context"
	"math"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/internal/errcode"
)

// QuotaStore counts what a project has, for its limits.
type QuotaStore interface {
	ClustersOfProject(ctx context.Context, projectID string) (int, error)
	// ServicesOfProject leaves out the hub's own services and the targets of global
	// services of the whole hub: administrators placed those.
	ServicesOfProject(ctx context.Context, projectID string) (int, error)
}

// Room returns how many more of something a project may have: MaxInt if there is no limit
// of it. Of two transactions that take the last place, the later one retries, if each
// records that something joined the project.
func (p Project) Room(ctx context.Context, most int, count func(ctx context.Context, projectID string) (int, error)) (int, error) {
	if most == 0 {
		return math.MaxInt, nil
	}
	if err := event.DependsOn(ctx, event.Change{Kind: event.KindProjectMember, Key: p.ID}); err != nil {
		return 0, err
	}
	have, err := count(ctx, p.ID)
	return most - have, err
}

// full is the error for a project that has as many of something as it may have, if room
// says so.
func (p Project) full(what string, most, room int) error {
	if room > 0 {
		return nil
	}
	return errcode.New(errcode.Forbidden, "project %s has %d %s, and its limit is %d; delete some, or let an administrator allow more (axle projects update %s --max-%s N)",
		p.Name, most-room, what, most, p.Name, what)
}

// FullOfServices returns Forbidden if there is no room for another service.
func (p Project) FullOfServices(room int) error { return p.full("services", p.Limits.Services, room) }

// RoomForServices returns how many more services a project may have.
func (f Templates) RoomForServices(ctx context.Context, p Project) (int, error) {
	return p.Room(ctx, p.Limits.Services, f.store.ServicesOfProject)
}

// RoomForPreview returns Forbidden if no more previews of a project may be open at once;
// count counts the open ones.
func (f *projects) RoomForPreview(ctx context.Context, projectID string, count func(ctx context.Context, projectID string) (int, error)) error {
	p, err := f.project(ctx, projectID)
	if err != nil {
		return err
	}
	return p.join(ctx, "previews", p.Limits.Previews, count)
}

// RoomForApplication returns Forbidden if a project may have no more applications; count
// counts them.
func (f *projects) RoomForApplication(ctx context.Context, projectID string, count func(ctx context.Context, projectID string) (int, error)) error {
	p, err := f.project(ctx, projectID)
	if err != nil {
		return err
	}
	return p.join(ctx, "applications", p.Limits.Applications, count)
}

// join returns Forbidden if the project has as many of something as it may have.
func (p Project) join(ctx context.Context, what string, most int, count func(ctx context.Context, projectID string) (int, error)) error {
	if most == 0 {
		return nil
	}
	room, err := p.Room(ctx, most, count)
	if err == nil {
		err = p.full(what, most, room)
	}
	if err == nil {
		err = joined(ctx, p.ID)
	}
	return err
}

// admitsCluster returns Forbidden if the project may have no more clusters, or not the
// machines of this one.
func (f *projects) admitsCluster(ctx context.Context, p Project, c Cluster) error {
	room, err := p.Room(ctx, p.Limits.Clusters, f.store.ClustersOfProject)
	if err == nil {
		err = p.full("clusters", p.Limits.Clusters, room)
	}
	if err == nil {
		err = f.admitsMachines(ctx, p, 0, c.Origin.Machines())
	}
	return err
}

// admitsMachines returns Forbidden if a cluster of the project may not have more machines than
// before. Fewer it may always have.
func (f *projects) admitsMachines(ctx context.Context, p Project, before, after int) error {
	if after <= before {
		return nil
	}
	room, err := p.Room(ctx, p.Limits.Machines, f.machinesOfProject)
	if err != nil || after-before <= room {
		return err
	}
	return errcode.New(errcode.Forbidden, "project %s has %d machines, and its limit is %d; this would be %d more; ask for fewer, destroy a cluster, or let an administrator allow more (axle projects update %s --max-machines N)",
		p.Name, p.Limits.Machines-room, p.Limits.Machines, after-before, p.Name)
}

// machinesOfProject counts the machines that the clusters of a project ask for.
func (f *projects) machinesOfProject(ctx context.Context, projectID string) (n int, err error) {
	clusters, err := f.store.Clusters(ctx, projectID)
	for _, c := range clusters {
		n += c.Origin.Machines()
	}
	return n, err
}

// checkNumbers refuses negative numbers.
func (l Limits) checkNumbers() error {
	for at, n := range map[string]int{"limits.clusters": l.Clusters, "limits.machines": l.Machines, "limits.services": l.Services, "limits.previews": l.Previews, "limits.applications": l.Applications} {
		if n < 0 {
			return specrules.Field(at, "%d is negative; 0 is no limit", n)
		}
	}
	return nil
}
