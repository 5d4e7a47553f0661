package write

import (
	"bytes"
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/agent/ignore"
)

// withoutDefaults asks by dry run for the object without fields beside those of Git that
// nobody owns, after the API server refused it because of these: the defaults of what
// Git had before, such as rollingUpdate once a Deployment's strategy is Recreate. It
// returns the patch that makes these fields ours, so that the next apply removes them.
// A nil object: it was refused for another reason.
func (w *Writer) withoutDefaults(ctx context.Context, it *wave.Item, body []byte, refused error) (object map[string]any, claim []byte, err error) {
	fields := kubeclient.InvalidFields(refused)
	if len(fields) == 0 || len(kubeclient.ImmutableFields(refused)) > 0 {
		return nil, nil, nil
	}
	live, err := w.Client.Whole(ctx, it.Kind, it.Ref)
	if err != nil || live == nil {
		return nil, nil, err
	}
	var desired map[string]any
	if err := json.Unmarshal(body, &desired); err != nil {
		return nil, nil, err
	}
	meta := metav1.PartialObjectMetadata{}
	have := &unstructured.Unstructured{Object: live}
	meta.ManagedFields, meta.ResourceVersion = have.GetManagedFields(), have.GetResourceVersion()
	found := ignore.Clear(desired, live, meta.ManagedFields, fields)
	if found == nil {
		return nil, nil, nil
	}
	set := fieldpath.NewSet()
	if err := set.FromJSON(bytes.NewReader(found)); err != nil {
		return nil, nil, err
	}
	if claim, err = takeOver(it.Ref, &meta, set, func(string) bool { return false }); err != nil || claim == nil {
		return nil, nil, err
	}
	without, err := json.Marshal(desired)
	if err != nil {
		return nil, nil, err
	}
	object, err = w.Client.DryPatch(ctx, it.Kind, it.Ref, without)
	if apierrors.IsInvalid(err) {
		return nil, nil, nil
	}
	return object, claim, err
}

// DryApply is what an apply of a body would make of the object, by dry run.
func (w *Writer) DryApply(ctx context.Context, it *wave.Item, body []byte) (map[string]any, error) {
	object, refused := w.Client.DryApply(ctx, it.Kind, it.Ref, body)
	if refused == nil {
		return object, nil
	}
	if cleared, _, err := w.withoutDefaults(ctx, it, body, refused); err == nil && cleared != nil {
		return cleared, nil
	}
	return nil, refused
}

// sendCleared applies a body. If defaults are in its way, it makes them ours first.
func (w *Writer) sendCleared(ctx context.Context, it *wave.Item, body []byte) (*metav1.PartialObjectMetadata, error) {
	meta, refused := w.send(ctx, it, body)
	if refused == nil {
		return meta, nil
	}
	object, claim, err := w.withoutDefaults(ctx, it, body, refused)
	if err != nil || object == nil {
		return nil, refused
	}
	if _, err := w.Client.Patch(ctx, it.Kind, it.Ref, types.JSONPatchType, claim); err != nil {
		return nil, err
	}
	return w.send(ctx, it, body)
}
