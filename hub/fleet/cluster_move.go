package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

// ClusterMove asks to put a cluster into another project.
type ClusterMove struct {
	Name, Project string
	// Plan changes nothing.
	Plan bool
	// Confirm allows that the move deletes something from the cluster.
	Confirm bool
	// Also returns what changes beside the cluster and its services. It runs in the
	// transaction, before anything is written.
	Also func(ctx context.Context, before, after Cluster) ([]MoveChange, error)
}

// MoveChange is one change that comes with a move.
type MoveChange struct {
	// Kind is service, stays, global_service, binding, people or token.
	Kind    string
	Object  string
	Message string
	// Deletes is set when something is deleted from the cluster.
	Deletes bool
}

// MoveCluster puts a cluster into another project, with its services of the project that
// it leaves: who may write the cluster's project could otherwise change them still. Those
// of third projects stay where they are. What a global service made follows by itself
// (hub/fleet/globals). Forbidden when the project does not admit one of the services, and
// Conflict when the move deletes something and nobody confirmed it.
func (f *Fleet) MoveCluster(ctx context.Context, by string, m ClusterMove) (changes []MoveChange, err error) {
	err = f.staged(ctx, &staging{dryRun: m.Plan}, func(ctx context.Context) error {
		changes, err = f.moveCluster(ctx, by, m)
		if err == nil && m.Plan {
			err = errDryRun
		}
		return err
	})
	if m.Plan && errors.Is(err, errDryRun) {
		err = nil
	}
	return changes, err
}

func (f *Fleet) moveCluster(ctx context.Context, by string, m ClusterMove) ([]MoveChange, error) {
	before, err := f.store.ClusterByName(ctx, m.Name)
	if err != nil {
		return nil, err
	}
	p, err := f.store.ProjectByName(ctx, m.Project, false)
	if err != nil || p.ID == before.ProjectID {
		return nil, err
	}
	if p, err = f.project(ctx, p.ID); err == nil {
		err = f.admitsCluster(ctx, p, before)
	}
	if err != nil {
		return nil, err
	}
	if err := dependOnServices(ctx, before); err != nil {
		return nil, err
	}
	c := before
	c.ProjectID, c.Project = p.ID, p.Name
	if c.ManagedBy, err = managed.Write(ctx, "cluster "+c.Name, before.ManagedBy, true); err != nil {
		return nil, err
	}
	changes, err := m.Also(ctx, before, c)
	if err != nil {
		return nil, err
	}
	services, err := f.moveServices(ctx, by, before, p)
	if err != nil {
		return nil, err
	}
	changes = append(services, changes...)
	if i := slices.IndexFunc(changes, func(c MoveChange) bool { return c.Deletes }); i >= 0 && !m.Confirm && !m.Plan {
		return nil, errcode.New(errcode.Conflict, "%s %s; axle clusters move %s --project %s --plan shows all changes, and --confirm makes them", changes[i].Object, changes[i].Message, c.Name, p.Name)
	}
	if err := f.putCluster(ctx, before, &c, "cluster.moved", by, fmt.Sprintf("from project %s to %s", before.Project, p.Name)); err != nil {
		return nil, err
	}
	return changes, errors.Join(joined(ctx, before.ProjectID), joined(ctx, p.ID))
}

// moveServices moves the services that leave the project with their cluster.
func (f *Fleet) moveServices(ctx context.Context, by string, c Cluster, p Project) (changes []MoveChange, err error) {
	services, err := f.store.ServicesOfCluster(ctx, c.ID, nil)
	if err != nil {
		return nil, err
	}
	for _, s := range services {
		switch {
		case s.Builtin() || s.ManagedBy.Tool == managed.Hub:
			continue
		case !s.movesWith(c):
			changes = append(changes, MoveChange{Kind: "stays", Object: "service " + s.Ref().String(), Message: "stays in project " + s.Project})
			continue
		}
		// Its manager remains, whoever moves the cluster.
		moving := managed.WithCaller(ctx, managed.Caller{By: s.ManagedBy})
		moved, _, err := f.update(moving, by, s, ServiceRequest{Ref: s.Ref(), Project: p.Name, Spec: s.Spec})
		if err != nil {
			return nil, fmt.Errorf("service %s cannot move to project %s: %w", s.Ref(), p.Name, err)
		}
		if !slices.EqualFunc(moved.Follows(), s.Follows(), func(a, b Place) bool { return a.RepositoryID == b.RepositoryID }) {
			return nil, errcode.New(errcode.Conflict, "service %s would follow another repository in project %s, which has another one with this URL; name the repository in the service first", s.Ref(), p.Name)
		}
		changes = append(changes, movedService(s.Service, p))
	}
	return changes, nil
}

// movesWith reports whether a service moves with its cluster to another project.
func (s Service) movesWith(c Cluster) bool {
	return !s.Builtin() && s.ManagedBy.Tool != managed.Hub && s.ProjectID == c.ProjectID && s.Deleting == ""
}

// MovesWith returns the services that move with a cluster to another project. NotFound.
func (f *Fleet) MovesWith(ctx context.Context, cluster string) (all []Service, err error) {
	c, err := f.store.ClusterByName(ctx, cluster)
	if err != nil {
		return nil, err
	}
	services, err := f.store.ServicesOfCluster(ctx, c.ID, nil)
	for _, s := range services {
		if s.movesWith(c) {
			all = append(all, s.Service)
		}
	}
	return all, err
}

// movedService is the change of a service that moves with its cluster.
func movedService(s Service, p Project) MoveChange {
	message := "moves to project " + p.Name
	if accountOf(s.Name, s.Spec, p.Limits) == "" && !p.Trusted() {
		message += ", whose services may not act as the agent: set its serviceAccount, or it is not applied any more"
	}
	if s.ManagedBy.Declares() {
		message += "; it is managed by " + s.ManagedBy.String() + ": change its project there too"
	}
	return MoveChange{Kind: "service", Object: "service " + s.Ref().String(), Message: message}
}
