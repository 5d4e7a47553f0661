package poll

import (
	"context"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/tarball"
)

// Hub is how the loop reaches the hub. An untrusted answer is returned as an error,
// which means that nothing changes.
type Hub interface {
	// Desired polls; etag names the loop's list.
	Desired(ctx context.Context, etag string) (Answer, error)
	// Services returns at most 500 specs. Forbidden while the cluster waits
	// for approval.
	Services(ctx context.Context, ids []string) (*agentv1.ServicesResponse, error)
	// Tarball starts a download, of a delta if that is smaller. NotFound: this
	// cluster may not have it. Unprocessable: its source cannot be produced.
	Tarball(ctx context.Context, r tarball.Request) (*tarball.Download, error)
	// Report stores statuses; an answer means that they are committed.
	// Conflict when another agent uses this identity.
	Report(ctx context.Context, r *agentv1.ReportRequest) (*agentv1.ReportResponse, error)
	// Ping stores what is known of the cluster.
	Ping(ctx context.Context, r *agentv1.PingRequest) error
}

// Answer is the result of a poll.
type Answer struct {
	// List is nil if nothing changed.
	List *agentv1.Desired
	// Signed is the list as the hub signed it, for the disk.
	Signed []byte
	ETag   string
	// Seen is the accepted position, Shown one that the hub proved.
	Seen, Shown string
	Lineage     Lineage
	// StatusHash covers the statuses that the hub has of this cluster.
	StatusHash string
}
