package removals

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/axle-cd/axle/internal/errcode"
)

// Removal is one kind of one API version that Kubernetes removes. All minor versions are
// of Kubernetes 1.
type Removal struct {
	Group, Version, Kind string
	// Resource is the plural in paths.
	Resource string
	// Removed is the first minor version that does not serve it.
	Removed uint
	// Replacement is APIVERSION/KIND, empty if there is none.
	Replacement string
}

// APIVersion is the version as manifests have it.
func (r Removal) APIVersion() string { return r.Group + "/" + r.Version }

// RemovedIn is Removed for people.
func (r Removal) RemovedIn() string { return Minor(r.Removed) }

// Minor is a minor version of Kubernetes 1 for people.
func Minor(minor uint) string { return fmt.Sprintf("1.%d", minor) }

// MinorOf is the minor version of a version of Kubernetes, such as 1.37 of v1.37.2; empty for a
// text that is none.
func MinorOf(text string) string {
	v, err := Version(text)
	if err != nil {
		return ""
	}
	return Minor(v.Minor())
}

// All returns the whole table, in order of group, version and kind.
func All() []Removal { return slices.Clone(sorted()) }

var sorted = sync.OnceValue(func() []Removal {
	all := slices.Concat(table, dropped)
	slices.SortFunc(all, Removal.compare)
	return all
})

func (r Removal) compare(o Removal) int {
	return slices.Compare([]string{r.Group, r.Version, r.Kind}, []string{o.Group, o.Version, o.Kind})
}

// OfKind returns the removal of a kind, and whether there is one.
func OfKind(kind schema.GroupVersionKind) (Removal, bool) {
	return first(func(r Removal) bool {
		return r.Group == kind.Group && r.Version == kind.Version && r.Kind == kind.Kind
	})
}

// OfResource returns the removal of a resource, and whether there is one.
func OfResource(resource schema.GroupVersionResource) (Removal, bool) {
	return first(func(r Removal) bool {
		return r.Group == resource.Group && r.Version == resource.Version && r.Resource == resource.Resource
	})
}

func first(is func(Removal) bool) (Removal, bool) {
	at := slices.IndexFunc(sorted(), is)
	if at < 0 {
		return Removal{}, false
	}
	return sorted()[at], true
}

// form is a version with a suffix, as those who build Kubernetes add it.
var form = regexp.MustCompile(`^v?\d+(\.\d+){1,2}([-+][0-9A-Za-z.+-]{0,60})?$`)

// Version reads a version of Kubernetes as people and API servers write it: 1.37, v1.37.2,
// v1.36.3+k3s1. Errors are Invalid.
func Version(text string) (*version.Version, error) {
	v, err := version.ParseGeneric(text)
	if err != nil || v.Major() != 1 || !form.MatchString(text) {
		return nil, errcode.New(errcode.Invalid, "%.40q is not a version of Kubernetes; write it as 1.%d or 1.%d.2", text, Known, Known)
	}
	return v, nil
}
