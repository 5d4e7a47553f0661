package ownertree_test

import (
	"context"
	"testing"

	"github.com/axle-cd/axle/internal/ownertree"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzGrow has a cluster answer any text for everything that is listed.
func FuzzGrow(f *testing.F) {
	for _, text := range []string{`{"items":[{"metadata":{"namespace":"ns","name":"p","uid":"p","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"a","uid":"u","controller":true}]},"spec":{"replicas":0},"status":{"conditions":[{}]}},{"metadata":{"namespace":"ns","name":"q","uid":"q","ownerReferences":[{"uid":"p"},{"uid":"q"}]}}]}`,
		`{"items":[{"metadata":{"uid":"u","ownerReferences":[{"uid":"u"}]}},null,7]}`, `{"metadata":{"continue":"more"},"items":[]}`, `{"spec":{"targetNamespace":"ns"}}`, `{"items":{}}`, `null`, ``} {
		f.Add([]byte(text))
	}
	roots := []ownertree.Object{{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "ns", Name: "a", UID: "u"}, {Version: "v1", Kind: "Service", Namespace: "ns", Name: "a"}, {Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease", Namespace: "ns", Name: "a"}}
	f.Fuzz(func(t *testing.T, text []byte) {
		read := 0
		// Each list has ten pages at most.
		taken.Few(t, 1<<14+100*len(text), func() {
			tree, err := ownertree.Grow(t.Context(), roots, func(context.Context, string) ([]byte, error) { read++; return text, nil })
			if err == nil && tree == nil {
				t.Error("no tree")
			}
		})
		if read > 200 {
			t.Errorf("%d answers were read", read)
		}
	})
}
