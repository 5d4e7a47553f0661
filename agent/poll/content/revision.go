package content

import (
	"crypto/sha256"
	"encoding/hex"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/poll/change"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// Settings names a service's settings without people's requests: while the settings
// and the files are the same, so are the rendered objects.
func Settings(spec *agentv1.ServiceSpec) string {
	bare := proto.Clone(spec).(*agentv1.ServiceSpec)
	bare.SpecDigest, bare.Display = "", nil
	bare.SyncRequest, bare.SyncResources, bare.DiffRequest = 0, nil, 0
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(bare)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Revision names what hooks run once for: the service's files and settings.
// People's requests (a sync, the release of a prune), its windows, and data of its
// cluster are no reason to run a migration again.
func Revision(spec *agentv1.ServiceSpec, in change.Inputs) string {
	bare := proto.Clone(spec).(*agentv1.ServiceSpec)
	bare.SpecDigest, bare.Cluster, bare.Display = "", nil, nil
	bare.PruneApproval, bare.SyncRequest, bare.DiffRequest = 0, 0, 0
	bare.SyncWindows, bare.SyncResources, bare.DryRun = nil, nil, false
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(bare)
	if err != nil {
		// Texts of a spec are UTF-8, because it was sent as protobuf.
		return in.TarballDigest + in.Parts + spec.GetSpecDigest()
	}
	h := sha256.New()
	io.WriteString(h, in.TarballDigest+"\n"+in.Parts+"\n")
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
