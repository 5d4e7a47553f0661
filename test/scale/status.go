package scale

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// Seen is a service as a simulated cluster sees it.
type Seen struct {
	Cluster string
	Spec    *agentv1.ServiceSpec
	// Content is nil while the source was never produced.
	Content *Content
	Paused  bool
	// Listed is false when the hub names the service no more.
	Listed bool
	// At is when the cluster took it.
	At time.Time
}

// Healthy applies everything at once, as far as it can be read.
func Healthy(s Seen) *agentv1.ServiceStatus {
	switch {
	case s.Paused:
		return s.Applied("Paused", "Healthy", "", nil)
	case s.Content == nil:
		return &agentv1.ServiceStatus{Sync: "Pending", Reason: "NoContent", Health: "Unknown", Message: "the hub has no content for it yet"}
	case s.Content.Problem != nil:
		return s.Failed("render", s.Content.Problem.Error())
	case !s.Listed:
		status := s.Applied("Held", "Healthy", "the hub does not list this service any more", nil)
		status.Reason = "Orphaned"
		return status
	}
	return s.Applied("Synced", "Healthy", "", nil)
}

// Applied is the status of a service whose objects are on the cluster. ail
// may make some of them ill.
func (s Seen) Applied(sync, health, message string, ail func(*agentv1.Component)) *agentv1.ServiceStatus {
	status := &agentv1.ServiceStatus{
		Sync: sync, Health: health, Message: message, SpecDigest: s.Spec.GetSpecDigest(),
		Revision: s.Spec.GetDisplay().GetRevision(), SourceRevision: s.Spec.GetDisplay().GetSourceRevision(), AppliedAt: s.At.UnixMicro(),
	}
	if s.Content != nil {
		status.TarballDigest = s.Content.Digest.String()
		status.Components, status.Counts = pack(s.components(ail))
	}
	return status
}

// Failed is the status of a service of which nothing was applied.
func (s Seen) Failed(source, message string) *agentv1.ServiceStatus {
	return &agentv1.ServiceStatus{
		Sync: "Failed", Health: "Unknown", Message: message,
		Errors: []*agentv1.StatusError{{Source: source, Message: message, Since: s.At.UnixMicro()}},
	}
}

// components are the objects of the content.
func (s Seen) components(ail func(*agentv1.Component)) []*agentv1.Component {
	list := make([]*agentv1.Component, 0, len(s.Content.Objects))
	for _, o := range s.Content.Objects {
		key := o.Key(s.Spec.GetNamespace())
		version, _ := o.Data["apiVersion"].(string)
		c := &agentv1.Component{
			Group: key.Group, Version: strings.TrimPrefix(version, key.Group+"/"), Kind: key.Kind,
			Namespace: key.Namespace, Name: key.Name, Synced: true, Health: "Healthy",
			Uid: s.Spec.GetId() + "-" + key.Kind + "-" + key.Name,
		}
		if ail != nil {
			ail(c)
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *agentv1.Component) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return list
}

var packer, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10))

func pack(list []*agentv1.Component) ([]byte, *agentv1.ComponentCounts) {
	counts := &agentv1.ComponentCounts{Total: int32(len(list))}
	for _, c := range list {
		switch c.GetHealth() {
		case "Healthy":
			counts.Healthy++
		case "Progressing":
			counts.Progressing++
		case "Degraded":
			counts.Degraded++
		default:
			counts.Other++
		}
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(&agentv1.ComponentList{Components: list})
	if err != nil {
		return nil, counts
	}
	return packer.EncodeAll(raw, nil), counts
}
