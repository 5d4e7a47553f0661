package agentapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/packedlist"
)

// The limits of one report.
const (
	maxReports    = 500
	maxListed     = 10_000
	maxDrained    = 500
	maxStatus     = 96 << 10
	maxComponents = 64 << 10
	maxErrors     = 50
)

// Report stores statuses; when it answers, they are committed.
func (c calls) Report(ctx context.Context, req *connect.Request[agentv1.ReportRequest]) (*connect.Response[agentv1.ReportResponse], error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	batch, err := reportBatch(p.ID, req.Msg)
	if err != nil {
		return nil, err
	}
	if err := c.config.Keys.CheckBoot(ctx, p.ID, req.Msg.GetBootId()); err != nil {
		return nil, err
	}
	ctx, receipt := event.WithReceipt(ctx)
	result, err := c.config.Fleet.StoreReports(ctx, batch)
	if err != nil {
		return nil, err
	}
	at := c.config.Feed.Position()
	if committed := receipt.Position(); at.Before(committed) {
		at = committed
	}
	c.metrics.reports.Add(float64(len(batch.Reports) - len(result.Resync)))
	c.metrics.resyncs.Add(float64(len(result.Resync)))
	resp := connect.NewResponse(&agentv1.ReportResponse{Resync: result.Resync, StatusHash: result.StatusHash, Position: positionMessage(at)})
	c.position.set(resp.Header(), c.config.Feed, at, "")
	return resp, nil
}

func reportBatch(clusterID string, m *agentv1.ReportRequest) (fleet.ReportBatch, error) {
	b := fleet.ReportBatch{ClusterID: clusterID, Whole: m.GetWhole(), Drained: m.GetDrainedTombstones(), BootID: m.GetBootId()}
	carried := 0
	for _, r := range m.GetServices() {
		if !onlyListed(r) {
			carried++
		}
	}
	if carried > maxReports || len(m.GetServices()) > maxListed || len(b.Drained) > maxDrained {
		return b, errcode.New(errcode.Invalid, "a report carries at most %d statuses of %d services, and %d tombstones; send it in parts", maxReports, maxListed, maxDrained)
	}
	for _, r := range m.GetServices() {
		one, err := report(r)
		if err != nil {
			return b, err
		}
		b.Reports = append(b.Reports, one)
	}
	var err error
	b.Heals, err = heals(m.GetHeals())
	return b, err
}

// onlyListed reports whether a service is only listed as already stored: a
// complete report of many services ends so, after their statuses came in parts.
func onlyListed(r *agentv1.ServiceReport) bool {
	return len(r.GetStatus()) == 0 && r.GetBaseHash() != "" && r.GetBaseHash() == r.GetNewHash()
}

// report checks one status against its hash and decodes it.
func report(r *agentv1.ServiceReport) (fleet.Report, error) {
	out := fleet.Report{ServiceID: r.GetServiceId(), BaseHash: r.GetBaseHash(), NewHash: r.GetNewHash()}
	if out.ServiceID == "" {
		return out, errcode.New(errcode.Invalid, "a report names no service")
	}
	if onlyListed(r) {
		return out, nil // it is stored or will be requested again; either way nothing is written
	}
	if len(r.GetStatus()) > maxStatus {
		return out, errcode.New(errcode.Invalid, "the status of service %s has %d bytes; at most %d are allowed", out.ServiceID, len(r.GetStatus()), maxStatus)
	}
	hash := sha256.Sum256(r.GetStatus())
	if hex.EncodeToString(hash[:]) != out.NewHash {
		return out, errcode.New(errcode.Invalid, "the status of service %s does not have the hash that came with it", out.ServiceID)
	}
	var m agentv1.ServiceStatus
	if err := bounded.Proto(r.GetStatus(), &m, bounded.Most(maxStatus)); err != nil {
		return out, errcode.New(errcode.Invalid, "the status of service %s cannot be read: %w", out.ServiceID, err)
	}
	if len(m.GetComponents()) > maxComponents {
		return out, errcode.New(errcode.Invalid, "the components of service %s have %d bytes; at most %d are allowed", out.ServiceID, len(m.GetComponents()), maxComponents)
	}
	if err := packedlist.Check(m.GetComponents(), &agentv1.ComponentList{}); err != nil {
		return out, errcode.New(errcode.Invalid, "the status of service %s: %w", out.ServiceID, err)
	}
	plainText(&m)
	out.Status = status(&m)
	return out, nil
}

func status(m *agentv1.ServiceStatus) fleet.Status {
	s := fleet.Status{
		Sync: syncOf(m.GetSync()), Reason: m.GetReason(), Health: healthOf(m.GetHealth()), Message: m.GetMessage(),
		TarballDigest: m.GetTarballDigest(), SpecDigest: m.GetSpecDigest(),
		Revision: m.GetRevision(), SourceRevision: m.GetSourceRevision(), AppliedAt: m.GetAppliedAt(),
		Components: m.GetComponents(),
	}
	for _, e := range m.GetErrors()[:min(maxErrors, len(m.GetErrors()))] {
		s.Errors = append(s.Errors, fleet.StatusError{Source: e.GetSource(), Message: e.GetMessage(), Since: e.GetSince(), Warning: e.GetWarning()})
	}
	if n := m.GetCounts(); n != nil {
		s.Counts = fleet.Counts{Total: int(n.GetTotal()), Healthy: int(n.GetHealthy()), Progressing: int(n.GetProgressing()), Degraded: int(n.GetDegraded()), Other: int(n.GetOther())}
	}
	return s
}

// syncOf maps an unknown word to work in progress: a newer agent may send a
// word that this hub does not know. The reason that came with it is kept.
func syncOf(word string) fleet.Sync {
	switch s := fleet.Sync(word); s {
	case fleet.Synced, fleet.Pending, fleet.Applying, fleet.Drifted, fleet.Failed, fleet.Held, fleet.Paused:
		return s
	}
	return fleet.Pending
}

// healthOf maps unknown words, like syncOf.
func healthOf(word string) fleet.Health {
	switch h := fleet.Health(word); h {
	case fleet.Healthy, fleet.Progressing, fleet.Degraded, fleet.Suspended, fleet.Missing:
		return h
	}
	return fleet.HealthUnknown
}
