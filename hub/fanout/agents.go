package fanout

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/installed"
	"github.com/axle-cd/axle/internal/errcode"
)

// AgentService is the name of the service that is upgraded.
const AgentService = fleet.AgentService

// AgentPayload is a version of the agent to place.
type AgentPayload struct {
	Version string `json:"version"`
	// Image, when empty, keeps each cluster's registry and uses the version as
	// the tag.
	Image string `json:"image,omitempty"`
	// Digest and Size describe the tarball with the manifests.
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// Text returns the payload as a rollout stores it.
func (p AgentPayload) Text() string {
	text, err := json.Marshal(p)
	if err != nil {
		return "" // a struct of text and numbers is always JSON
	}
	return string(text)
}

// UpgradeFailed is the reason in the status of an agent's own service when the
// version did not work there.
const UpgradeFailed = "UpgradeFailed"

// Fleet places agents and reports their state.
type Fleet interface {
	PutBuiltin(ctx context.Context, clusterID string, b fleet.Builtin) error
	Builtins(ctx context.Context, name string, clusterIDs []string) ([]fleet.BuiltinState, error)
}

// Agents is the Subject of the agents' own upgrades. It includes clusters whose
// agent reports how it is installed, and can therefore replace itself.
type Agents struct{ Fleet Fleet }

var _ Subject = Agents{}

// Name implements Subject.
func (Agents) Name() string { return AgentService }

// Members implements Subject.
func (a Agents) Members(ctx context.Context, clusterIDs []string) ([]Member, error) {
	states, err := a.Fleet.Builtins(ctx, AgentService, clusterIDs)
	if err != nil {
		return nil, err
	}
	var all []Member
	for _, s := range states {
		if !s.Cluster.Installation.Known() {
			continue
		}
		if err := Known(s.Freshness, s.Cluster.PollInterval); err != nil {
			return nil, err
		}
		all = append(all, Member{
			ClusterID: s.Cluster.ID, Name: s.Cluster.Name, Payload: placed(s),
			Runs: func(version string) bool { return s.Cluster.AgentVersion == version }, Fresh: s.Freshness == fleet.Fresh,
			Failing: failedUpgrade(s), ProjectID: s.Cluster.ProjectID, Project: s.Cluster.Project,
		})
	}
	return all, nil
}

// placed is the payload that a cluster has. One with flags that the agent no longer runs
// with counts as none, so that its owner's change of them is taken over.
func placed(s fleet.BuiltinState) string {
	has := s.Service.Spec.Configuration
	if args, err := json.Marshal(s.Cluster.Installation.Args); err != nil || has[argsKey] != string(args) {
		return ""
	}
	return has[payloadKey]
}

// longestWait is the longest poll interval that is waited for after a start of
// the hub, to learn which agents poll.
const longestWait = 10 * time.Minute

// Known returns Unavailable while this hub cannot know whether a registered agent
// polls; interval is the agent's own, in microseconds. If all agents counted as absent
// then, all clusters would get the version at once.
func Known(f fleet.Freshness, interval int64) error {
	if f != fleet.Unknown || interval > longestWait.Microseconds() {
		return nil
	}
	return errcode.New(errcode.Unavailable, "this hub has just started and does not know yet which agents poll; try again in a few minutes").After(10 * time.Second)
}

// payloadKey is the key of the service's configuration that holds the placed
// payload.
const payloadKey = "payload"

// argsKey is the key of the agent's flags.
const argsKey = "args"

// Place implements Subject.
func (a Agents) Place(ctx context.Context, clusterIDs []string, payload string) (map[string]string, error) {
	var p AgentPayload
	if err := json.Unmarshal([]byte(payload), &p); err != nil {
		return nil, errcode.New(errcode.Internal, "the payload of a rollout cannot be read: %w", err)
	}
	states, err := a.byID(ctx, clusterIDs)
	if err != nil {
		return nil, err
	}
	refused := map[string]string{}
	for _, id := range clusterIDs {
		s, ok := states[id]
		if !ok {
			refused[id] = "the cluster is gone"
			continue
		}
		b, err := builtin(p, payload, s.Cluster.AgentVersion, s.Cluster.Installation)
		if err == nil {
			err = a.Fleet.PutBuiltin(ctx, id, b)
		}
		switch {
		case errcode.Is(err, errcode.Conflict), errcode.Is(err, errcode.NotFound), errcode.Is(err, errcode.Invalid):
			refused[id] = errcode.Message(err)
		case err != nil:
			return nil, err
		}
	}
	return refused, nil
}

func (a Agents) byID(ctx context.Context, clusterIDs []string) (map[string]fleet.BuiltinState, error) {
	states, err := a.Fleet.Builtins(ctx, AgentService, clusterIDs)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]fleet.BuiltinState, len(states))
	for _, s := range states {
		byID[s.Cluster.ID] = s
	}
	return byID, nil
}

// builtin returns the agent's service for one installation. An agent that
// already runs the version keeps exactly its image. The cluster owner's
// settings (namespace, registry, flags) stay.
func builtin(p AgentPayload, payload, runs string, i installed.Agent) (fleet.Builtin, error) {
	image := p.Image
	switch {
	case image != "":
	case runs == p.Version:
		image = i.Image
	default:
		name, ok := repository(i.Image)
		if !ok {
			return fleet.Builtin{}, errcode.New(errcode.Invalid, "the agent runs the image %.200q, from which the image of %s cannot be derived; give one with --image", i.Image, p.Version)
		}
		image = name + ":" + p.Version
	}
	args, err := json.Marshal(i.Args)
	if err != nil {
		return fleet.Builtin{}, errcode.New(errcode.Internal, "encode the agent's arguments: %w", err)
	}
	return fleet.Builtin{
		Name: AgentService, Namespace: i.Namespace, Version: p.Version, Digest: p.Digest, Size: p.Size,
		Configuration: map[string]string{
			"version": p.Version, "image": image, "namespace": i.Namespace, argsKey: string(args), payloadKey: payload,
		},
	}, nil
}

// repository returns an image reference without its tag; ok is false for a
// digest, which has no next version.
func repository(image string) (string, bool) {
	if image == "" || strings.Contains(image, "@") {
		return "", false
	}
	slash := strings.LastIndex(image, "/")
	if colon := strings.LastIndex(image, ":"); colon > slash {
		image = image[:colon]
	}
	return image, true
}

// Judge implements Subject. A cluster is healthy while its agent polls, runs
// the version, and reports neither a failed upgrade nor a running one.
func (a Agents) Judge(ctx context.Context, version string, clusterIDs []string) (map[string]Verdict, error) {
	states, err := a.byID(ctx, clusterIDs)
	if err != nil {
		return nil, err
	}
	verdicts := make(map[string]Verdict, len(clusterIDs))
	for _, id := range clusterIDs {
		if s, ok := states[id]; ok {
			verdicts[id] = judge(s, version)
		}
	}
	return verdicts, nil
}

// told reports whether the last report is about the placed version, and not from before.
func told(s fleet.BuiltinState) bool { return s.ReportedAt > s.Service.UpdatedAt }

func failedUpgrade(s fleet.BuiltinState) bool {
	return told(s) && s.Status.Sync == fleet.Failed && s.Status.Reason == UpgradeFailed
}

func judge(s fleet.BuiltinState, version string) Verdict {
	told := told(s)
	switch {
	case failedUpgrade(s):
		return Verdict{Failed: true, Message: s.Cluster.Name + ": " + s.Status.Message}
	case s.Freshness != fleet.Fresh:
		return Verdict{Message: s.Cluster.Name + ": its agent does not poll"}
	case s.Cluster.AgentVersion != version:
		message := s.Cluster.Name + ": its agent runs " + s.Cluster.AgentVersion
		if told && s.Status.Message != "" {
			message += ": " + s.Status.Message
		}
		return Verdict{Message: message}
	case told && s.Status.Sync == fleet.Applying:
		return Verdict{Message: s.Cluster.Name + ": " + s.Status.Message}
	}
	return Verdict{Good: true}
}

// ImageOf returns the image of a rollout of agents, empty for each agent's own registry.
func ImageOf(r Rollout) string {
	var p AgentPayload
	if json.Unmarshal([]byte(r.Payload), &p) != nil {
		return ""
	}
	return p.Image
}
