package globals

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
)

// wanted returns a target as its template wants it, and whether it differs from
// the service that the cluster has.
func (m *matching) wanted(ctx context.Context, p placed, before fleet.StoredService) (fleet.StoredService, bool, error) {
	v, s := m.global, before
	if !m.existed[s.ID] {
		s.Service = fleet.Service{ID: identity.NewID("svc-"), ClusterID: p.cluster.ID, Cluster: p.cluster.Name, Name: v.Name, CreatedAt: m.now()}
		if !m.liquid {
			s.OwnerID = v.ID
		}
	}
	project, err := m.projectOf(ctx, m.project(p.cluster))
	if err != nil {
		return s, false, err
	}
	s.ManagedBy, s.Spec, s.Secrets = v.Manager(), v.Spec, v.Secrets
	if m.liquid {
		if s.Spec, err = v.made(m.rendered[p.cluster.ID]); err != nil {
			return s, false, err
		}
	}
	if err := m.takeRoom(ctx, project, before); err != nil {
		return s, false, err
	}
	if err := m.config.Fleet.Admit(ctx, &s, before.Service, project, p.cluster); err != nil {
		return s, false, err
	}
	if err := m.follow(ctx, &s); err != nil {
		return s, false, err
	}
	if s.OwnerID == "" {
		if err := m.config.Fleet.GiveValues(ctx, &s, v.Secrets, v.Finds()); err != nil {
			return s, false, err
		}
		if reflect.DeepEqual(s, before) {
			return s, false, nil
		}
	}
	s.DeclaredBy, s.UpdatedAt = v.DeclaredBy, m.now()
	if s.PinnedRevision == 0 {
		s.Undelivered = s.Revision > 0
	}
	if s.Revision == 0 || s.PinnedRevision != 0 {
		err = m.config.Fleet.Settle(ctx, &s, p.cluster, s.Revision == 0)
	}
	return s, true, err
}

// takeRoom takes a place among the services of the project of a global service. Targets of
// a global service of the whole hub take none.
func (m *matching) takeRoom(ctx context.Context, p fleet.Project, before fleet.StoredService) error {
	if m.global.ProjectID == "" || p.Limits.Services == 0 || before.ProjectID == p.ID {
		return nil
	}
	if m.room == nil {
		room, err := m.config.Fleet.RoomForServices(ctx, p)
		if err != nil {
			return err
		}
		m.room = &room
	}
	if err := p.FullOfServices(*m.room); err != nil {
		return err
	}
	*m.room--
	return nil
}

func (m *matching) projectOf(ctx context.Context, id string) (p fleet.Project, err error) {
	p, known := m.projects[id]
	if known {
		return p, nil
	}
	if p, err = m.config.Fleet.ProjectByID(ctx, id); err == nil {
		m.projects[id] = p
	}
	return p, err
}

// follow fills in a target's sources. Targets that share a template share them.
func (m *matching) follow(ctx context.Context, s *fleet.StoredService) error {
	if m.unbound != nil {
		return m.unbound
	}
	if s.OwnerID == "" {
		return m.config.Fleet.FollowSources(ctx, &s.Service, m.global.Repositories)
	}
	if m.shared == nil {
		t := m.global.template()
		m.sharedFail = m.config.Fleet.FollowSources(ctx, &t.Service, m.global.Repositories)
		m.shared = &t.Service
	}
	s.SourceID, s.RepositoryID, s.Places = m.shared.SourceID, m.shared.RepositoryID, m.shared.Places
	return m.sharedFail
}

// store writes the targets, and gives those with content their revisions.
func (m *matching) store(ctx context.Context) error {
	if len(m.targets) == 0 {
		return nil
	}
	var inserts, updates []Target
	for _, s := range m.targets {
		isNew := !m.existed[s.ID]
		var err error
		switch {
		case s.OwnerID != "" && isNew:
			inserts = append(inserts, Target{s, m.global.SpecVersion})
		case s.OwnerID != "":
			updates = append(updates, Target{s, m.global.SpecVersion})
		case isNew:
			err = m.config.Rows.InsertService(ctx, s)
		default:
			err = m.config.Rows.UpdateService(ctx, s)
		}
		if err == nil && s.OwnerID == "" {
			err = m.config.Fleet.BindValues(ctx, s.Service)
		}
		if err != nil {
			return err
		}
		if isNew {
			m.created++
		}
	}
	if err := m.config.Targets.InsertTargets(ctx, inserts); err != nil {
		return err
	}
	if err := m.config.Targets.UpdateTargets(ctx, updates); err != nil {
		return err
	}
	return m.revise(ctx)
}

func (m *matching) revise(ctx context.Context) error {
	heads, err := m.heads(ctx)
	if err != nil {
		return err
	}
	var revised []fleet.Revised
	for i := range m.targets {
		s := &m.targets[i]
		if s.PinnedRevision != 0 {
			continue
		}
		r, changed, err := m.config.Fleet.Revise(ctx, s, m.clusters[i], heads)
		if err != nil {
			return err
		}
		if changed {
			revised = append(revised, r)
		}
	}
	if len(revised) == 0 {
		return nil
	}
	return m.config.Moves.Revise(ctx, revised, m.now(), fleet.KeptRevisions)
}

// heads returns the heads of all sources of the targets. One that moves meanwhile
// makes the transaction retry.
func (m *matching) heads(ctx context.Context) (map[string]fleet.Head, error) {
	seen := map[string]bool{}
	var ids []string
	for _, s := range m.targets {
		for _, p := range s.Follows() {
			if seen[p.SourceID] {
				continue
			}
			seen[p.SourceID] = true
			ids = append(ids, p.SourceID)
			if err := event.DependsOn(ctx, event.Change{Kind: event.KindHead, Key: p.SourceID}); err != nil {
				return nil, err
			}
		}
	}
	return m.config.Sources.Heads(ctx, ids)
}

// tell appends the changes, all in the transaction's one feed row, and events.
func (m *matching) tell(ctx context.Context) error {
	of := func(cluster, id string) error {
		return event.Append(ctx, event.Change{Kind: event.KindService, Key: id, Cluster: cluster})
	}
	record := func(kind string, c fleet.Cluster, id string) error {
		if len(m.targets)+len(m.remove) > eachTold {
			return nil
		}
		return event.Record(ctx, event.Entry{
			Kind: kind, Object: "service " + c.Name + "/" + m.global.Name, By: "hub", Cluster: c.ID, Service: id, Message: "by " + noun(m.global.Name),
		})
	}
	for i, s := range m.targets {
		kind := "service.updated"
		if !m.existed[s.ID] {
			kind = "service.created"
		}
		if err := cmp.Or(of(s.ClusterID, s.ID), record(kind, m.clusters[i], s.ID)); err != nil {
			return err
		}
	}
	for _, p := range m.remove {
		if err := cmp.Or(of(p.cluster.ID, p.before.ID), record("service.released", p.cluster, p.before.ID)); err != nil {
			return err
		}
	}
	for id := range m.projects {
		if err := event.Append(ctx, event.Change{Kind: event.KindProjectMember, Key: id}); err != nil {
			return err
		}
	}
	if len(m.targets)+len(m.remove)+len(m.failures) == 0 {
		return nil
	}
	message := fmt.Sprintf("%d services made, %d changed, %d released, %d clusters failed", m.created, len(m.targets)-m.created, len(m.remove), len(m.failures))
	return event.Record(ctx, event.Entry{Kind: "global_service.spread", Object: noun(m.global.Name), By: "hub", Message: message})
}
