package kubeclient

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzAnswers has an API server, or who stands before it, answer any text to each request.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","uid":"u","finalizers":["x"],"deletionTimestamp":"2026-01-01T00:00:00Z"}}`,
		`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"continue":"c"},"items":[{},{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{}}}]}}]}`,
		`{"kind":"Status","status":"Failure","code":409,"reason":"Conflict","details":{"causes":[{"field":"a"}]}}`, `{"kind":"Status"}`, `[]`, `null`, `{}`, `<html>`, `{"metadata":{"deletionTimestamp":7}}`} {
		f.Add(uint16(200), text)
		f.Add(uint16(422), text)
	}
	api := &taken.Answers{}
	c, err := NewSender(&rest.Config{Host: "http://127.0.0.1:1", Transport: api}, NewGate(4))
	if err != nil {
		f.Fatal(err)
	}
	kind := kubeobj.Kind{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespaced: true}
	ref := kubeobj.Ref{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "a"}
	f.Fuzz(func(t *testing.T, code uint16, text string) {
		if api.Code, api.Body = int(code), text; code < 200 || code >= 500 || code == 429 || code/100 == 3 {
			api.Code = 200 // the others are tried again, after a while
		}
		ctx := t.Context()
		for name, call := range map[string]func() error{
			"Get":      func() error { _, err := c.Get(ctx, kind, ref); return err },
			"Apply":    func() error { _, err := c.Apply(ctx, kind, ref, []byte(`{}`)); return err },
			"Patch":    func() error { _, err := c.Patch(ctx, kind, ref, types.MergePatchType, []byte(`{}`)); return err },
			"Remove":   func() error { _, err := c.Remove(ctx, kind, ref, "u", ""); return err },
			"List":     func() error { _, err := c.List(ctx, Path(kind, "ns", ""), nil); return err },
			"Whole":    func() error { _, err := c.Whole(ctx, kind, ref); return err },
			"DryApply": func() error { _, err := c.DryApply(ctx, kind, ref, []byte(`{}`)); return err },
			"Write":    func() error { _, err := c.Write(ctx, "POST", Path(kind, "ns", ""), map[string]any{}); return err },
		} {
			var err error
			taken.Few(t, len(text), func() { err = call() })
			if err != nil {
				// What is made of an error for people is bounded, whoever wrote it.
				if words := Explain("apply", ref, err); len(words) > 64<<10+2*len(text) {
					t.Errorf("%s: %d bytes of %d", name, len(words), len(text))
				}
			}
		}
	})
}
