package generated

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/manifest"
)

const (
	// namePointer is where an object has its name.
	namePointer = "/metadata/name"
	// nameHash is how many digits of a hash a name ends with, and maxPrefix what
	// may stand before them: Jobs have names of at most 63 characters.
	nameHash  = 8
	maxPrefix = 63 - nameHash
)

// nameRuns gives a name to each object that does its work once a revision and
// leaves its name to the API server (generateName) or to chance. It is made of
// the revision and of what the object is without everything that differs each
// time it is rendered, so that it is the same each time within a revision, and
// another one in the next. That also identifies the object's run, whatever
// passwords it is given: IdentityAnnotation. It returns the names that were
// rendered, by place.
func nameRuns(revision string, rendered []render.Object, objects []*unstructured.Unstructured) (map[int]string, error) {
	was, taken := map[int]string{}, map[string]bool{}
	for i, o := range objects {
		volatile := rendered[i].Volatile
		data := manifest.Object{Data: o.Object}
		if !data.Runs() || len(volatile) == 0 && o.GetName() != "" {
			continue
		}
		identity, err := identityOf(o, volatile)
		if err != nil {
			return nil, err
		}
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[kubeobj.IdentityAnnotation] = identity
		o.SetAnnotations(annotations)
		if prefix := o.GetGenerateName(); prefix != "" {
			was[i] = o.GetName()
			o.SetName(runName(prefix, revision, identity, taken))
			o.SetGenerateName("")
		}
	}
	return was, nil
}

// runName is one that no other object of the render has.
func runName(prefix, revision, identity string, taken map[string]bool) string {
	prefix = prefix[:min(len(prefix), maxPrefix)]
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", revision, identity, n))
		name := prefix + hex.EncodeToString(sum[:])[:nameHash]
		if !taken[name] {
			taken[name] = true
			return name
		}
	}
}

// identityOf is a hash of an object without what differs each time.
func identityOf(o *unstructured.Unstructured, volatile []string) (string, error) {
	bare := o.DeepCopy()
	for _, pointer := range volatile {
		put(bare.Object, pointer, nil)
	}
	text, err := json.Marshal(bare.Object)
	if err != nil {
		return "", errcode.New(errcode.Invalid, "%s %s: %w", o.GetKind(), strings.TrimSpace(o.GetName()+o.GetGenerateName()), err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
