package apply

import (
	"context"
	"encoding/json"
)

// hookRunAnnotation names the run on a hook's object, so that an agent that was killed
// after creating the object, but before recording it, finds it.
const hookRunAnnotation = "axle-cd.github.io/hook-run"

// start creates the object of a hook. It first deletes the object of an earlier run.
// An object of this run, created before the agent was killed, is used as it is.
func (w *writer) start(ctx context.Context, it *item, had *entry, run string) (entry, error) {
	v, why, meta, err := w.look(ctx, it, had)
	if err != nil {
		return entry{}, w.explain(it, err)
	}
	if v == mayApply && meta.Annotations[hookRunAnnotation] == run {
		return w.done(it, meta), nil
	}
	again := judged(it.kind) || it.hook.policy&deleteBefore != 0
	if v == mayApply && meta != nil && again && !keptKinds[it.kind.GroupKind()] {
		if err := w.removeAndWait(ctx, it); err != nil {
			return entry{}, w.explain(it, err)
		}
		v, meta = mayCreate, nil
	}
	running := *it
	if running.body, err = withAnnotation(it.body, hookRunAnnotation, run); err != nil {
		return entry{}, err
	}
	answer, err := w.act(ctx, v, why, &running, meta)
	if err != nil {
		return entry{}, w.explain(it, err)
	}
	return w.done(it, answer), nil
}

// withAnnotation adds one annotation to a body that has some.
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
