// Package enrollment tells how far a new cluster's agent has come, and what to look
// at when it comes no further. It reads what the hub knows and decides nothing;
// hub/console answers Clusters.Enrollment with it.
package enrollment

import (
	"fmt"
	"strings"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// patience is how long a step waits before likely causes are named.
const patience = 30 * time.Second

// The states of a step.
const (
	done    = "Done"
	waiting = "Waiting"
	failed  = "Failed"
	notYet  = "NotYet"
)

// Known is what the hub knows of a cluster.
type Known struct {
	Cluster   fleet.ClusterView
	Admission agentkey.Admission
	// Tunnel is Up, Down or Off, TunnelSince when it became that.
	Tunnel      string
	TunnelSince int64
	// Refused are messages of services in which the cluster refuses the agent a
	// right.
	Refused []string
	// HubURL is the URL that agents dial.
	HubURL string
	Now    time.Time
}

// Looked is how many services are looked at for rights that are missing.
const Looked = 100

// Refuse notes a message of a service if it says that a right is missing.
func (k *Known) Refuse(service, message string) {
	if strings.Contains(message, "is forbidden: User") {
		k.Refused = append(k.Refused, service+": "+message)
	}
}

// Steps returns the steps in order. Once one waits or failed, the later ones are
// NotYet.
func Steps(k Known) *hubv1.EnrollmentResponse {
	out := &hubv1.EnrollmentResponse{Done: true}
	since := k.Cluster.CreatedAt
	for _, step := range []func(k Known, since int64) *hubv1.EnrollmentStep{token, contact, registered, approved, report, tunnel, rights} {
		s := step(k, since)
		if !out.Done {
			s = &hubv1.EnrollmentStep{Name: s.GetName(), State: notYet}
		}
		if s.GetState() == waiting && k.Now.Sub(clock.FromMicros(s.GetAt())) < patience {
			s.Checks = nil
		}
		out.Steps, out.Done = append(out.Steps, s), out.Done && s.GetState() == done
		since = max(since, s.GetAt())
	}
	return out
}

func token(k Known, _ int64) *hubv1.EnrollmentStep {
	s, t := &hubv1.EnrollmentStep{Name: "token", State: done, At: k.Cluster.CreatedAt}, k.Admission.Token
	switch now := clock.Micros(k.Now); {
	case k.Cluster.Registered():
		s.Message = "it was used"
	case !k.Admission.Found:
		s.State, s.Message = failed, "there is no token for this cluster any more"
		s.Checks = []string{renew(k)}
	case t.Expired(now):
		s.State, s.At, s.Message = failed, t.ExpiresAt, "the token expired at "+clockTime(t.ExpiresAt)
		s.Checks = []string{renew(k)}
	default:
		s.At, s.Message = t.CreatedAt, "valid until "+clockTime(t.ExpiresAt)
	}
	return s
}

func renew(k Known) string {
	return "make a new one and install the agent with it: axle clusters create " + k.Cluster.Name + " --renew-token"
}

func clockTime(at int64) string { return clock.FromMicros(at).UTC().Format("2006-01-02 15:04 UTC") }

func contact(k Known, since int64) *hubv1.EnrollmentStep {
	s, c := &hubv1.EnrollmentStep{Name: "contact", State: done, At: seenAt(k)}, k.Admission.Contact
	switch {
	case c.At != 0 && c.Err != nil && !k.Cluster.Registered():
		s.State, s.At = failed, c.At
		s.Message = fmt.Sprintf("an agent %s from %s was refused: %s", c.AgentVersion, c.Source, errcode.Message(c.Err))
		s.Checks = append([]string{renew(k)}, logs)
	case c.At != 0:
		s.Message = fmt.Sprintf("an agent %s from %s", c.AgentVersion, c.Source)
	case k.Cluster.Registered():
		s.Message = strings.TrimSpace("an agent " + k.Cluster.AgentVersion)
	default:
		s.State, s.At, s.Message = waiting, since, "no agent has called "+k.HubURL
		s.Checks = []string{
			"the manifests were not applied, or the pod does not start: kubectl -n axle-system get pods",
			logs,
			"the cluster does not find or reach " + k.HubURL + " (DNS, a firewall, a proxy): " + doctor(k),
			"the cluster does not trust the hub's certificate (CA), or its clock is wrong: the same command reports it",
		}
	}
	return s
}

// seenAt is when the agent was first seen.
func seenAt(k Known) int64 {
	if k.Cluster.RegisteredAt != 0 {
		return k.Cluster.RegisteredAt
	}
	return k.Admission.Contact.At
}

const logs = "the agent's log: kubectl -n axle-system logs deploy/axle-agent --tail=50"

func doctor(k Known) string {
	return "kubectl -n axle-system exec deploy/axle-agent -- axle-agent doctor --hub-url " + k.HubURL
}

func registered(k Known, since int64) *hubv1.EnrollmentStep {
	s := &hubv1.EnrollmentStep{Name: "registered", State: done, At: k.Cluster.RegisteredAt, Message: k.Cluster.ClusterUID}
	if !k.Cluster.Registered() {
		s.State, s.At, s.Message, s.Checks = waiting, since, "", []string{logs}
	}
	if k.Cluster.Message != "" {
		s.State, s.At, s.Message, s.Checks = failed, since, k.Cluster.Message, []string{logs}
	}
	return s
}

func approved(k Known, since int64) *hubv1.EnrollmentStep {
	s := &hubv1.EnrollmentStep{Name: "approved", State: done, At: k.Cluster.RegisteredAt}
	if k.Cluster.Pending {
		s.State, s.At, s.Message = waiting, since, "an administrator has to let this cluster in"
		s.Checks = []string{"an administrator approves it: axle clusters approve " + k.Cluster.Name}
	}
	return s
}

func report(k Known, since int64) *hubv1.EnrollmentStep {
	s := &hubv1.EnrollmentStep{Name: "report", State: done, At: k.Cluster.PolledAt}
	if k.Cluster.PolledAt == 0 {
		s.State, s.At, s.Message = waiting, since, "the agent has not asked for its services"
		s.Checks = []string{logs, "its clock differs, or something between changes answers: " + doctor(k)}
	}
	return s
}

func tunnel(k Known, since int64) *hubv1.EnrollmentStep {
	s := &hubv1.EnrollmentStep{Name: "tunnel", State: done, At: k.TunnelSince, Message: k.Tunnel}
	if k.Tunnel != "Up" {
		s.State, s.At = waiting, max(since, k.TunnelSince)
		s.Checks = []string{
			"a proxy on the way does not pass WebSockets: " + doctor(k),
			logs,
		}
	}
	return s
}

func rights(k Known, since int64) *hubv1.EnrollmentStep {
	s := &hubv1.EnrollmentStep{Name: "rights", State: done, At: since}
	if len(k.Refused) > 0 {
		s.State, s.Message = failed, k.Refused[0]
		s.Checks = []string{"each right that the agent lacks: " + doctor(k)}
	}
	return s
}
