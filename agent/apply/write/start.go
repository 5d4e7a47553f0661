package write

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/ownership"
	"github.com/axle-cd/axle/agent/apply/wave"
)

// hookRunAnnotation names the run on a hook's object, so that an agent that was killed
// after creating the object, but before recording it, finds it.
const hookRunAnnotation = "axle-cd.github.io/hook-run"

// Start creates the object of a hook. It first deletes the object of an earlier run.
// An object of this run, created before the agent was killed, is used as it is.
func (w *Writer) Start(ctx context.Context, it *wave.Item, had *inventory.Entry, run string) (inventory.Entry, error) {
	v, why, meta, err := w.look(ctx, it, had)
	if err != nil {
		return inventory.Entry{}, w.explain(it, err)
	}
	if v == ownership.MayApply && meta.Annotations[hookRunAnnotation] == run {
		return w.done(it, meta), nil
	}
	again := wave.Judged(it.Kind) || it.Hook.Policy&wave.DeleteBefore != 0
	if v == ownership.MayApply && meta != nil && again && !wave.KeptKinds[it.Kind.GroupKind()] {
		if err := w.removeAndWait(ctx, it); err != nil {
			return inventory.Entry{}, w.explain(it, err)
		}
		v, meta = ownership.MayCreate, nil
	}
	running := *it
	if running.Body, err = withAnnotation(it.Body, hookRunAnnotation, run); err != nil {
		return inventory.Entry{}, err
	}
	answer, err := w.act(ctx, v, why, &running, meta)
	if err != nil {
		return inventory.Entry{}, w.explain(it, err)
	}
	return w.done(it, answer), nil
}

// withAnnotation adds one annotation to a body.
func withAnnotation(body []byte, key, value string) ([]byte, error) {
	var top, meta map[string]json.RawMessage
	var annotations map[string]string
	if err := json.Unmarshal(body, &top); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(top["metadata"], &meta); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(meta["annotations"], &annotations); err != nil {
		return nil, err
	}
	if top == nil || meta == nil || annotations == nil {
		return nil, errors.New("the body of a hook has no annotations")
	}
	annotations[key] = value
	var err error
	if meta["annotations"], err = json.Marshal(annotations); err != nil {
		return nil, err
	}
	if top["metadata"], err = json.Marshal(meta); err != nil {
		return nil, err
	}
	return json.Marshal(top)
}
