package manifest

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/similar"
)

// Other is an object that is not for the hub: of a cluster, of the operator, or of a kind
// that has no effect yet. As an error, it says where the object belongs.
type Other struct {
	Kind, Name, Where string
	error
}

// Unwrap returns the error.
func (o *Other) Unwrap() error { return o.error }

// other is an object that is not for the hub. What only looks like one is an error: a
// prune would delete what it declares.
func (d document) other(err error) error {
	kind, group, ours := d.meta.Kind, d.apiGroup(), []string{kinds.Deployments, kinds.Axle}
	meant := similar.To(group, ours) != "" || strings.HasSuffix(group, "."+ours[0]) || strings.HasSuffix(group, "."+ours[1])
	_, read := kinds.Of(kinds.Deployments, kind)
	if _, own := kinds.Of(kinds.Axle, kind); d.meta.APIVersion == "" {
		meant = read || own || d.meta.Name != ""
	}
	if meant {
		return err
	}
	name := cmp.Or(d.meta.Name, filepath.Base(d.where))
	return &Other{cmp.Or(kind, "-"), name, d.where, err}
}

// ofCluster is the error for an object of the cluster of an agent.
func (d document) ofCluster() error {
	return &Other{d.meta.Kind, d.meta.Name, d.where, errcode.New(errcode.Invalid, "%s: %s %q belongs in its cluster, not on the hub; apply it there with kubectl or in a service's repository", d.where, d.meta.Kind, d.meta.Name)}
}

func (d document) apiGroup() string {
	group, _, _ := strings.Cut(d.meta.APIVersion, "/")
	return group
}

// unread is the error for a kind of our groups that is not read.
func (d document) unread() error {
	k, known := kinds.Of(d.apiGroup(), d.meta.Kind)
	var err error = errcode.New(errcode.Invalid, "%s: kind %s is not supported yet; supported kinds are %s%s", d.where, d.meta.Kind, strings.Join(ExportedKinds, ", "), d.why())
	if d.apiGroup() == kinds.Axle {
		why := ""
		if known {
			why = ". " + strings.TrimSuffix(k.Says, ".")
		}
		err = own{d}.invalid("kind %s of %s does not act%s", d.meta.Kind, kinds.Axle, why)
	}
	if !known {
		return err // a kind that nobody knows is one that is misspelt
	}
	return &Other{d.meta.Kind, d.meta.Name, d.where, err}
}

// ReadForHub is Read, except that objects that are not for the hub are returned and no
// error. With an error they are those before it.
func ReadForHub(paths []string, stdin func() ([]byte, error)) (items []Item, others []*Other, _ error) {
	var documents []document
	for _, path := range paths {
		found, err := readPath(path, stdin)
		if err != nil {
			return nil, nil, err
		}
		documents = append(documents, found...)
	}
	return itemsOf(documents)
}
