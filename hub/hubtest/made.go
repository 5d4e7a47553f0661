package hubtest

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
)

// MadeState, Machine and Replaced are what a management cluster reports of a cluster that was
// made from a template.
type (
	MadeState = fleet.MadeState
	Machine   = fleet.Machine
	Replaced  = fleet.Replaced
)

// ReportMade stores a state of a cluster, as a report of its management cluster's agent does.
func (h *Hub) ReportMade(ctx context.Context, cluster string, state MadeState) error {
	all := h.Parts().Fleet
	c, err := all.ClusterNamed(ctx, cluster)
	if err != nil {
		return err
	}
	maker, err := all.Service(ctx, fleet.Ref{Cluster: c.Origin.Management, Name: c.Origin.Service})
	if err != nil {
		return err
	}
	return all.StoreMadeStates(ctx, c.ManagementID, map[string]MadeState{maker.ID: state})
}
