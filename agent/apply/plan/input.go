package plan

import (
	"github.com/axle-cd/axle/agent/ignore"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/scrub"
	"github.com/axle-cd/axle/internal/syncwindow"
)

// Service is what a pass needs besides the objects.
type Service struct {
	ID        string
	Name      string
	Namespace string
	// TarballDigest and SpecDigest name the rendered content. They are stored once
	// all of it is applied.
	TarballDigest string
	SpecDigest    string
	// Seen is the position of the list that named them, stored with them.
	Seen string
	// Revision names the files and the settings, without people's requests and
	// without data of the cluster: hooks run once for each revision. If empty, the
	// digests are used.
	Revision string
	// Settings names the settings without people's requests. While settings and files
	// are those of the last pass, a new SpecDigest alone is not stored. If empty, all
	// are.
	Settings string
	// Windows say when a new revision may be applied.
	Windows []syncwindow.Window
	// SyncRequest counts people's requests. Only names the objects of the last
	// request; empty means all.
	SyncRequest int64
	Only        []string
	// Adopt takes over objects that another tool or a person made.
	Adopt bool
	// RequireOwnership refuses objects of another service of ours. Without it they
	// are taken over.
	RequireOwnership bool
	// CreateNamespace creates Namespace if it is missing.
	CreateNamespace bool
	// DeleteNamespace deletes Namespace after a drain.
	DeleteNamespace bool
	// EnforceNamespace puts every object into Namespace and refuses cluster-scoped
	// objects.
	EnforceNamespace     bool
	NamespaceLabels      map[string]string
	NamespaceAnnotations map[string]string
	// PruneOff keeps what is no longer rendered, in the cluster and in the inventory.
	PruneOff bool
	// PruneApproval releases a held prune if it is higher than when the prune was
	// held.
	PruneApproval int64
	// Partial says why the objects may be incomplete (a skipped file, a lookup that
	// could not be answered). Then nothing is pruned.
	Partial string
	// Ignore leaves fields to others.
	Ignore []ignore.Rule
	// Strict reverts what people's tools wrote, instead of reporting it.
	Strict bool
	// LeftOut says which parts of the service could not be rendered. A missing object
	// may belong to one of them, so nothing is pruned automatically.
	LeftOut []string
	// Unsettled lists the services of this cluster that have not been rendered, so
	// that their objects are unknown. Nil means none.
	Unsettled func() []Pending
	// Released lets a drain continue that waits for them.
	Released bool
	// Scrub removes the service's secret values from every text. Nil removes nothing.
	Scrub *scrub.Scrubber
	// LookedUp are values that a render read from Secrets of the cluster, by their
	// name. A diff hides them.
	LookedUp map[string]string
}

// Goal names the revision of a pass.
func (s Service) Goal() string {
	if s.Revision != "" {
		return s.Revision
	}
	return s.TarballDigest + " " + s.SpecDigest
}

// Pending is a service of the cluster whose present files and settings have not been
// rendered yet, so that its objects are unknown.
type Pending struct {
	// Name is the service's name; Why says why it has not been rendered.
	Name, Why string
	// Takes reports whether its limits allow an object; nil allows all.
	Takes func(kind kubeobj.Kind, ref kubeobj.Ref) bool
}

// Problem is one object that could not be handled.
type Problem struct {
	// Source is apply, prune or health, as in a status.
	Source string
	Ref    kubeobj.Ref
	// Message is scrubbed and says what to do next.
	Message string
	// Warning: it stopped nothing.
	Warning bool
}
