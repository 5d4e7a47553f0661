// Package installed describes how the agent of a cluster is installed: what its own
// manifests must keep over an upgrade, and what changed. It stores nothing: a hub that
// starts tells as if it had told of nothing. hub/fleet, hub/fanout and hub/agentapi call
// it.
//
// Invariants: of flags their names are told alone, but for the address of the hub, in at
// most 300 bytes; of one cluster 5 changes at once and one in 10 minutes after that.
package installed

import (
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/axle-cd/axle/internal/plain"
)

// Agent is how an agent says that it is installed; zero when it does not manage its own
// manifests, or has not said so yet.
type Agent struct {
	Namespace string `json:"namespace,omitempty"`
	// Image is the running image.
	Image string `json:"image,omitempty"`
	// Args are the command line after the program's name.
	Args []string `json:"args,omitempty"`
}

// Known reports whether the installation is known.
func (a Agent) Known() bool { return a.Namespace != "" }

// Equal reports whether nothing differs.
func (a Agent) Equal(o Agent) bool {
	return a.Namespace == o.Namespace && a.Image == o.Image && slices.Equal(a.Args, o.Args)
}

const (
	hubURL = "--hub-url"
	// maxMessage bounds the message of an event, in bytes: who controls a cluster writes
	// the flags.
	maxMessage = 300
)

// toldEvery and toldBurst bound how often a cluster's flags become events: who moves a
// hub changes them some times in a row, and who controls a cluster could at each ping.
const (
	toldEvery = 10 * time.Minute
	toldBurst = 5
)

// Told counts the changes of flags that were told, by cluster. The zero value is ready.
type Told struct{ clusters sync.Map }

// Changed is the kind and the message of the event that a cluster's agent runs with other
// flags than before; empty when it does not, or when that was told too often.
func (t *Told) Changed(clusterID string, from, to Agent, now time.Time) (kind, message string) {
	if !from.Known() || !to.Known() || slices.Equal(from.Args, to.Args) || !t.may(clusterID, now) {
		return "", ""
	}
	var flags []string
	for _, arg := range slices.Concat(from.Args, to.Args) {
		name, _, _ := strings.Cut(arg, "=")
		switch has := slices.Contains(to.Args, arg); {
		case has && slices.Contains(from.Args, arg):
		case has && name == hubURL:
			flags = append(flags, arg)
		case strings.HasPrefix(name, "--") && name != hubURL && !slices.Contains(flags, name):
			flags = append(flags, name)
		}
	}
	return "cluster.flags_changed", plain.Line(strings.Join(flags, ", "), maxMessage)
}

// may reports whether a cluster's change may be told now, and counts it.
func (t *Told) may(clusterID string, now time.Time) bool {
	bucket, ok := t.clusters.Load(clusterID)
	if !ok {
		bucket, _ = t.clusters.LoadOrStore(clusterID, rate.NewLimiter(rate.Every(toldEvery), toldBurst))
	}
	limiter, ok := bucket.(*rate.Limiter)
	return ok && limiter.AllowN(now, 1)
}
