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
	maxMachines   = 100
	maxConditions = 30
	maxVersions   = 5
	maxStateWord  = 100
	maxStateText  = 500
	// maxObjectName is what Kubernetes allows.
	maxObjectName = 253
)

// MadeState is the state of a cluster that was made from a template, as its management
// cluster last reported it, in the words of Cluster API.
type MadeState struct {
	Phase        string          `json:"phase,omitempty"`
	ControlPlane Machines        `json:"controlPlane,omitzero"`
	Pools        []Machines      `json:"pools,omitempty"`
	Conditions   []MadeCondition `json:"conditions,omitempty"`
	// Machines are at most 100, those first that are not ready; MoreMachines counts the others.
	Machines     []Machine `json:"machines,omitempty"`
	MoreMachines int       `json:"moreMachines,omitempty"`
	// Message is why it is not connected yet, or why nothing is known.
	Message string `json:"message,omitempty"`
	// ReportedAt is when a report last changed it.
	ReportedAt int64 `json:"reportedAt,omitempty"`
	// Unmet are the texts of the template's checks that do not hold for it. No agent reports
	// them.
	Unmet []string `json:"unmet,omitempty"`
	// Replaced is how far machines are that are replaced. It is stored with what was requested.
	Replaced []Replaced `json:"-"`
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

// Machine is one machine of a cluster.
type Machine struct {
	Name string `json:"name,omitempty"`
	// UID is that of its Machine object.
	UID string `json:"uid,omitempty"`
	// Pool is empty for one of the control plane.
	Pool  string `json:"pool,omitempty"`
	Phase string `json:"phase,omitempty"`
	// Node is empty before it has joined.
	Node    string `json:"node,omitempty"`
	Version string `json:"version,omitempty"`
	// Message is why it is not ready.
	Message   string `json:"message,omitempty"`
	CreatedAt int64  `json:"createdAt,omitempty"`
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
	s.MoreMachines = max(0, s.MoreMachines) + max(0, len(s.Machines)-maxMachines)
	s.Machines = s.Machines[:min(len(s.Machines), maxMachines)]
	for i := range s.Machines {
		m := &s.Machines[i]
		word(&m.UID, &m.Pool, &m.Phase, &m.Version)
		m.Name, m.Node, m.Message = plain.Line(m.Name, maxObjectName), plain.Line(m.Node, maxObjectName), plain.Line(m.Message, maxStateText)
	}
	s.Replaced = s.Replaced[:min(len(s.Replaced), maxReplacing)]
	for i := range s.Replaced {
		s.Replaced[i].Message = plain.Line(s.Replaced[i].Message, maxStateText)
	}
	word(&s.Phase)
	s.Message = plain.Line(s.Message, maxStateText)
}

// maxJudged is how often the checks of clusters are evaluated for one report while clusters
// change meanwhile.
const maxJudged = 5

// StoreMadeStates stores the states of clusters that services of a management cluster make, by
// the service's id. When it returns, they are committed. States of other services are left
// out: a service may have gone meanwhile. The checks of templates are evaluated before the
// transaction, and again when a cluster is no longer what they were evaluated for.
func (f *clusters) StoreMadeStates(ctx context.Context, managementID string, states map[string]MadeState) error {
	if len(states) > maxChildren {
		return errcode.New(errcode.Invalid, "a report has at most %d clusters; send it in parts", maxChildren)
	}
	j := judged{states: map[string]MadeState{}, origins: map[string]Origin{}}
	for id, s := range states {
		s.bound()
		j.ids, j.states[id] = append(j.ids, id), s
	}
	made, err := f.reportedBy(ctx, managementID, j.ids)
	if err != nil {
		return err
	}
	for range maxJudged {
		j.judge(ctx, made)
		err := f.writer.Write(ctx, func(ctx context.Context) (err error) {
			if made, err = f.madeByIDs(ctx, managementID, j.ids); err != nil || !j.holds(made) {
				return err
			}
			return f.storeJudged(ctx, j, made)
		})
		if err != nil || j.holds(made) {
			return err
		}
	}
	return errcode.New(errcode.Unavailable, "clusters of the report change all the time; report again")
}

// judged is a report with the results of checks.
type judged struct {
	ids    []string
	states map[string]MadeState
	// origins are what the checks were evaluated for.
	origins map[string]Origin
}

// judge evaluates the checks of the clusters that are not what they were evaluated for.
func (j *judged) judge(ctx context.Context, made map[string]Cluster) {
	for id, c := range made {
		if j.origins[id] != c.Origin {
			s := j.states[id]
			s.Unmet = c.Origin.unmet(ctx, s)
			j.states[id], j.origins[id] = s, c.Origin
		}
	}
}

// holds reports whether the checks of clusters were evaluated for what these are.
func (j *judged) holds(made map[string]Cluster) bool {
	for id, c := range made {
		if j.origins[id] != c.Origin {
			return false
		}
	}
	return true
}

// madeByIDs is madeBy for the ids of services.
func (f *clusters) madeByIDs(ctx context.Context, managementID string, ids []string) (map[string]Cluster, error) {
	services, err := f.store.ServicesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	return f.madeBy(ctx, managementID, services)
}

// reportedBy is madeByIDs outside of a transaction.
func (f *clusters) reportedBy(ctx context.Context, managementID string, ids []string) (made map[string]Cluster, err error) {
	err = f.store.Read(ctx, func(ctx context.Context) (err error) {
		made, err = f.madeByIDs(ctx, managementID, ids)
		return err
	})
	return made, err
}

func (f *clusters) storeJudged(ctx context.Context, j judged, made map[string]Cluster) error {
	for id, c := range made {
		now := j.states[id]
		moved, ended := c.replaced(now.Replaced, f.now())
		now.ReportedAt, now.Replaced = c.MadeState.ReportedAt, nil
		if !moved && reflect.DeepEqual(now, c.MadeState) {
			continue
		}
		if err := f.noteReplaced(ctx, c, ended); err != nil {
			return err
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
}
