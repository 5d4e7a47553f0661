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

// ReportOrphan stores that a cluster has a service that the hub does not know, as a report of its
// agent does, and ReportLeft that it has completed the tombstone of a service.
func (h *Hub) ReportOrphan(ctx context.Context, cluster, id, message string) error {
	c, err := h.Parts().Fleet.ClusterNamed(ctx, cluster)
	if err != nil {
		return err
	}
	_, err = h.Parts().Fleet.StoreReports(ctx, fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{{
		ServiceID: id, NewHash: id, Status: fleet.Status{Sync: fleet.Held, Reason: fleet.ReasonOrphaned, Message: message},
	}}})
	return err
}

// ReportLeft is what ReportOrphan says.
func (h *Hub) ReportLeft(ctx context.Context, cluster, service string) error {
	s, err := h.Parts().Fleet.Service(ctx, fleet.Ref{Cluster: cluster, Name: service})
	if err != nil {
		return err
	}
	_, err = h.Parts().Fleet.StoreReports(ctx, fleet.ReportBatch{ClusterID: s.ClusterID, Drained: []string{s.TombstoneID}})
	return err
}
