// Package change decides whether a service changed. Everything that a pass could
// come out differently for is in Inputs; when all of it is as it was at the last
// pass, and drift (agent/drift) has nothing to say, then there is nothing to do:
// no request, no render, no write, no report.
//
// It reads nothing and remembers nothing: agent/poll, which calls it for every
// service of every list, does both.
//
// Invariant: equal inputs are never a change, whatever the revision or the
// commit that they came with.
package change

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"

	"github.com/axle-cd/axle/agent/render"
)

// Cause says why a service needs a pass, for logs and metrics.
type Cause string

// The causes. Almost every poll yields Unchanged.
const (
	Unchanged    Cause = ""
	FirstPass    Cause = "first pass since the start"
	NewContent   Cause = "other content"
	NewSpec      Cause = "other settings"
	NewRenderer  Cause = "other renderer"
	NewCluster   Cause = "other Kubernetes version"
	NewAPIs      Cause = "APIs that it asked for came or went"
	NewReads     Cause = "objects that it looked up changed"
	Unfinished   Cause = "the last pass is not finished"
	Asked        Cause = "drift asks for it"
	Repaired     Cause = "its files on disk were damaged"
	DeletesFreed Cause = "deletes may happen again"
)

// Inputs is everything that the outcome of a pass depends on, besides the state of
// the service's own objects, which agent/drift watches.
type Inputs struct {
	// TarballDigest and SpecDigest name the files and the settings. They do not cover
	// revision numbers and commit messages: content decides.
	TarballDigest string
	// Parts names all files of a service with several parts, by path and digest;
	// empty otherwise.
	Parts      string
	SpecDigest string
	// Renderer is the version of the rendering program.
	Renderer string
	// Kubernetes is the cluster's version.
	Kubernetes string
	// Asked are the API versions that templates asked for ("*" means all). APIs is a
	// hash over which of them the cluster serves: a CRD installed later makes a chart
	// that asked for it render again.
	Asked []string
	APIs  string
	// Reads are the objects that templates looked up, with their uid and
	// version, or "absent".
	Reads []render.Read
}

// Of compares the inputs of the last good pass with those of a pass now. done is
// nil if there was none since the start. Values that only a render or a request can
// tell (Asked, Reads) are copied from done, and checked by APIsOf and by the caller,
// who reads again.
func Of(done *Inputs, now Inputs) Cause {
	switch {
	case done == nil:
		return FirstPass
	case done.TarballDigest != now.TarballDigest, done.Parts != now.Parts:
		return NewContent
	case done.SpecDigest != now.SpecDigest:
		return NewSpec
	case done.Renderer != now.Renderer:
		return NewRenderer
	case now.Kubernetes != "" && done.Kubernetes != now.Kubernetes:
		return NewCluster
	case now.APIs != "" && done.APIs != now.APIs:
		return NewAPIs
	case now.Reads != nil && !slices.Equal(done.Reads, now.Reads):
		return NewReads
	}
	return Unchanged
}

// APIsOf is a hash over which of the requested API versions are served; equal answers
// give equal hashes.
func APIsOf(asked []string, served []string) string {
	h := sha256.New()
	for _, name := range asked {
		state := "absent"
		switch {
		case name == "*":
			state = "all"
			for _, s := range slices.Sorted(slices.Values(served)) {
				io.WriteString(h, s+"\n")
			}
		case slices.Contains(served, name):
			state = "served"
		}
		io.WriteString(h, name+" "+state+"\n")
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
