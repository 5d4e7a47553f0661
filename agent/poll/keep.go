package poll

import (
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/poll/content"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/position"
)

// inventoried is what the cluster's inventory says about a service. The zero value is no
// inventory.
type inventoried struct {
	TarballDigest, SpecDigest string
	// Seen is the position of the list that it was applied for; empty if an earlier
	// version wrote the inventory.
	Seen string
}

// chosen returns the entry to use in place of the one in a list, and why the service
// has to wait; without a reason it is the offered entry. had is the entry used so
// far, nil if there is none. spec is the digest of the spec at hand. If a service
// waits and nothing is known that its cluster could keep, the entry has no content.
func chosen(had, offered *agentv1.DesiredService, applied inventoried, spec string) (want *agentv1.DesiredService, why string) {
	waiting := offered.GetWaiting()
	if waiting == nil {
		return offered, ""
	}
	if firstTarball(had) == "" && applied.TarballDigest != "" && applied.SpecDigest == spec {
		had = &agentv1.DesiredService{TarballDigest: applied.TarballDigest, SpecDigest: spec}
	}
	whole := proto.CloneOf(offered)
	whole.Waiting, whole.TarballDigest, whole.TarballBytes, whole.Parts = nil, waiting.GetTarballDigest(), waiting.GetTarballBytes(), waiting.GetParts()
	switch {
	case firstTarball(had) == "":
		return offered, waiting.GetMessage()
	case sameContent(had, whole) && had.GetSpecDigest() == whole.GetSpecDigest():
		return whole, ""
	}
	kept := proto.CloneOf(offered)
	kept.Waiting = nil
	kept.TarballDigest, kept.TarballBytes, kept.Parts, kept.SpecDigest = had.GetTarballDigest(), had.GetTarballBytes(), had.GetParts(), had.GetSpecDigest()
	return kept, waiting.GetMessage()
}

// older returns the entry to use in place of an entry of a list from the disk, and
// why, if the cluster's inventory belongs to a later list: no content. An inventory
// that names no list counts as later if it names other files.
func older(listed position.Position, want *agentv1.DesiredService, applied inventoried) (instead *agentv1.DesiredService, why string) {
	if firstTarball(want) == "" || applied.TarballDigest == "" {
		return want, ""
	}
	seen, err := position.Parse(applied.Seen)
	later := err == nil && listed != (position.Position{}) && listed.Before(seen)
	if applied.Seen == "" {
		later = firstTarball(want) != applied.TarballDigest
	}
	if !later {
		return want, ""
	}
	instead = proto.CloneOf(want)
	instead.TarballDigest, instead.TarballBytes, instead.Parts = "", 0, nil
	return instead, "the cluster has a newer revision than the list on this agent's disk; it is left as it is until the hub answers"
}

// firstTarball is the digest of an entry's first tarball, empty if it has no content.
func firstTarball(w *agentv1.DesiredService) string {
	tarball, _ := content.Of(w)
	return tarball
}
