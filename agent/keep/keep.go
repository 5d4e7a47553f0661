package keep

import (
	"slices"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/position"
)

// Applied is what the cluster's inventory says about a service. The zero value is no
// inventory.
type Applied struct {
	TarballDigest, SpecDigest string
	// Seen is the position of the list that it was applied for; empty if an earlier
	// version wrote the inventory.
	Seen string
}

// Choose returns the entry to use in place of the one in a list, and why the service
// has to wait; without a reason it is the offered entry. had is the entry used so
// far, nil if there is none. spec is the digest of the spec at hand. If a service
// waits and nothing is known that its cluster could keep, the entry has no content.
func Choose(had, offered *agentv1.DesiredService, applied Applied, spec string) (want *agentv1.DesiredService, why string) {
	waiting := offered.GetWaiting()
	if waiting == nil {
		return offered, ""
	}
	if content(had) == "" && applied.TarballDigest != "" && applied.SpecDigest == spec {
		had = &agentv1.DesiredService{TarballDigest: applied.TarballDigest, SpecDigest: spec}
	}
	whole := proto.CloneOf(offered)
	whole.Waiting, whole.TarballDigest, whole.TarballBytes, whole.Parts = nil, waiting.GetTarballDigest(), waiting.GetTarballBytes(), waiting.GetParts()
	switch {
	case content(had) == "":
		return offered, waiting.GetMessage()
	case Same(had, whole):
		return whole, ""
	}
	kept := proto.CloneOf(offered)
	kept.Waiting = nil
	kept.TarballDigest, kept.TarballBytes, kept.Parts, kept.SpecDigest = had.GetTarballDigest(), had.GetTarballBytes(), had.GetParts(), had.GetSpecDigest()
	return kept, waiting.GetMessage()
}

// Same reports whether two entries name the same files and settings.
func Same(a, b *agentv1.DesiredService) bool {
	return a.GetTarballDigest() == b.GetTarballDigest() && a.GetSpecDigest() == b.GetSpecDigest() &&
		slices.EqualFunc(a.GetParts(), b.GetParts(), func(p, q *agentv1.Part) bool { return proto.Equal(p, q) })
}

// content is the digest of an entry's first tarball.
func content(w *agentv1.DesiredService) string {
	if parts := w.GetParts(); len(parts) > 0 {
		return parts[0].GetDigest()
	}
	return w.GetTarballDigest()
}

// Older returns the entry to use in place of an entry of a list from the disk, and
// why, if the cluster's inventory belongs to a later list: no content. An inventory
// that names no list counts as later if it names other files.
func Older(listed position.Position, want *agentv1.DesiredService, applied Applied) (instead *agentv1.DesiredService, why string) {
	if content(want) == "" || applied.TarballDigest == "" {
		return want, ""
	}
	seen, err := position.Parse(applied.Seen)
	later := err == nil && listed != (position.Position{}) && listed.Before(seen)
	if applied.Seen == "" {
		later = content(want) != applied.TarballDigest
	}
	if !later {
		return want, ""
	}
	instead = proto.CloneOf(want)
	instead.TarballDigest, instead.TarballBytes, instead.Parts = "", 0, nil
	return instead, "the cluster has a newer revision than the list on this agent's disk; it is left as it is until the hub answers"
}
