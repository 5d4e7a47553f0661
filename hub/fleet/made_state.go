package fleet

import (
	"context"
	"reflect"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
)

// The limits of the state of a cluster. A template has at most 20 pools, and a Cluster object
// about 15 conditions.
const (
	maxChildren   = 100
	maxPools      = 50
	maxConditions = 30
	maxVersions   = 5
	maxStateWord  = 100
	maxStateText  = 500
)

// MadeState is the state of a cluster that was made from a template, as its management
// cluster last reported it, in the words of Cluster API.
type MadeState struct {
	Phase        string          `json:"phase,omitempty"`
	ControlPlane Machines        `json:"controlPlane,omitzero"`
	Pools        []Machines      `json:"pools,omitempty"`
	Conditions   []MadeCondition `json:"conditions,omitempty"`
	// Message is why it is not connected yet, or why nothing is known.
	Message string `json:"message,omitempty"`
	// ReportedAt is when a report last changed it.
	ReportedAt int64 `json:"reportedAt,omitempty"`
	// Unmet are the texts of the template's checks that do not hold for it. No agent reports
	// them.
	Unmet []string `json:"unmet,omitempty"`
}

// Machines are those of a pool, or of the control plane.
type Machines struct {
	Name     string `json:"name,omitempty"`
	Phase    string `json:"phase,omitempty"`
	Desired  int    `json:"desired,omitempty"`
	Ready    int    `json:"ready,omitempty"`
	UpToDate int    `json:"upToDate,omitempty"`
	// Versions of Kubernetes that they run.
	Versions []string `json:"versions,omitempty"`
}

// MadeCondition is a condition of the Cluster object.
type MadeCondition struct {
	Type    string `json:"type,omitempty"`
	Status  string `json:"status,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Since   int64  `json:"since,omitempty"`
}

// bound cuts what an agent reported to what is stored.
func (s *MadeState) bound() {
	word := func(texts ...*string) {
		for _, text := range texts {
			*text = plain.Line(*text, maxStateWord)
		}
	}
	s.Pools, s.Conditions = s.Pools[:min(len(s.Pools), maxPools)], s.Conditions[:min(len(s.Conditions), maxConditions)]
	all := []*Machines{&s.ControlPlane}
	for i := range s.Pools {
		all = append(all, &s.Pools[i])
	}
	for _, m := range all {
		word(&m.Name, &m.Phase)
		m.Versions = m.Versions[:min(len(m.Versions), maxVersions)]
		for i := range m.Versions {
			word(&m.Versions[i])
		}
	}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		word(&c.Type, &c.Status, &c.Reason)
		c.Message = plain.Line(c.Message, maxStateText)
	}
	word(&s.Phase)
	s.Message = plain.Line(s.Message, maxStateText)
}

// StoreMadeStates stores the states of clusters that services of a management cluster make, by
// the service's id. When it returns, they are committed. States of other services are left
// out: a service may have gone meanwhile.
func (f *clusters) StoreMadeStates(ctx context.Context, managementID string, states map[string]MadeState) error {
	if len(states) > maxChildren {
		return errcode.New(errcode.Invalid, "a report has at most %d clusters; send it in parts", maxChildren)
	}
	var ids []string
	for id := range states {
		ids = append(ids, id)
	}
	return f.writer.Write(ctx, func(ctx context.Context) error {
		services, err := f.store.ServicesByID(ctx, ids)
		if err != nil {
			return err
		}
		made, err := f.madeBy(ctx, managementID, services)
		if err != nil {
			return err
		}
		for id, c := range made {
			now := states[id]
			now.bound()
			now.ReportedAt, now.Unmet = c.MadeState.ReportedAt, c.Origin.unmet(ctx, now)
			if reflect.DeepEqual(now, c.MadeState) {
				continue
			}
			c.MadeState, c.MadeState.ReportedAt = now, f.now()
			if err := f.store.UpdateCluster(ctx, c); err != nil {
				return err
			}
			if err := event.Append(ctx, event.Change{Kind: event.KindCluster, Key: c.ID, Cluster: c.ID}); err != nil {
				return err
			}
		}
		return nil
	})
}
