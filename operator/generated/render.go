package generated

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/liquid"
)

// The limits of one object: the operator renders it beside its other work.
const (
	maxSteps  = cost.Budget
	maxValue  = 64 << 10
	maxValues = 100
)

// rendered are the values of a Secret, with a hash of what each was made from.
type rendered struct {
	values map[string][]byte
	inputs map[string]string
}

// unrenderable is an error that is the same until the object, or what its templates see,
// is another one.
type unrenderable struct{ error }

// Unwrap returns the error with its code.
func (u unrenderable) Unwrap() error { return u.error }

// failures are the templates that failed, by what they were rendered from: the same is not
// tried again.
type failures struct {
	kept *cost.Cache[[sha256.Size]byte, error]
}

func newFailures() failures {
	const each, most = 1 << 10, 1 << 20
	return failures{cost.NewCache[[sha256.Size]byte, error](most / each)}
}

// once calls fn, unless it failed with the same inputs before.
func (f failures) once(ctx context.Context, inputs any, fn func() error) error {
	text, err := json.Marshal(inputs)
	if err != nil {
		return err
	}
	key := sha256.Sum256(text)
	if err, failed := f.kept.Get(key); failed {
		return err
	}
	if err = fn(); err == nil || ctx.Err() != nil {
		return err
	}
	err = unrenderable{err}
	f.kept.Put(key, err, 1)
	return err
}

// render renders a template, and keeps the values whose inputs are those of before.
// Invalid with the key.
func render(ctx context.Context, template, configuration map[string]string, before rendered) (rendered, error) {
	if len(template) > maxValues {
		return rendered{}, errcode.New(errcode.Invalid, "spec.template: has %d keys; at most %d are allowed", len(template), maxValues)
	}
	out := rendered{values: map[string][]byte{}, inputs: map[string]string{}}
	values := map[string]any{}
	for key, value := range configuration {
		values[key] = value
	}
	engine := liquid.New(map[string]any{"configuration": values}, time.Now()).Limit(liquid.Limits{Steps: maxSteps, Bytes: maxValue, Slow: true, Stop: ctx.Err})
	for _, key := range slices.Sorted(maps.Keys(template)) {
		text := template[key]
		inputs, err := hash(text, configuration)
		if err != nil {
			return rendered{}, err
		}
		out.inputs[key] = inputs
		if had, ok := before.values[key]; ok && before.inputs[key] == inputs {
			out.values[key] = had
			continue
		}
		if out.values[key], err = engine.Render([]byte(text)); err != nil {
			return rendered{}, errcode.New(errcode.Invalid, "spec.template.%s: %w", key, err)
		}
		if out.values[key] == nil {
			out.values[key] = []byte{}
		}
	}
	return out, nil
}

// hash is that of what a value is made from: its template, and the configuration if
// the template uses it. It is stored in the Secret that has the value.
func hash(template string, configuration map[string]string) (string, error) {
	inputs := []any{template}
	if strings.Contains(template, "configuration") {
		inputs = append(inputs, configuration)
	}
	text, err := json.Marshal(inputs)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// texts renders the templates of a ClusterSync for one cluster of the hub. The first
// error ends it.
type texts struct {
	engine *liquid.Engine
	err    error
}

// maxClusterSteps are the steps of all templates for one cluster.
const maxClusterSteps = 2500

func newTexts(ctx context.Context, c *hubv1.Cluster) (*texts, error) {
	metadata := map[string]any{}
	if c.GetMetadata() != "" {
		if err := json.Unmarshal([]byte(c.GetMetadata()), &metadata); err != nil {
			return nil, errcode.New(errcode.Internal, "the hub's metadata of the cluster is not a JSON object: %w", err)
		}
	}
	tags := map[string]any{}
	for key, value := range c.GetTags() {
		tags[key] = value
	}
	values := map[string]any{"cluster": map[string]any{
		"id": c.GetId(), "handle": c.GetHandle(), "name": c.GetName(), "project": c.GetProject(), "tags": tags, "metadata": metadata,
		"distro": c.GetDistro(), "version": c.GetKubernetesVersion(),
	}}
	limits := liquid.Limits{Steps: maxClusterSteps, Bytes: maxValue, Repeatable: true, Stop: ctx.Err}
	return &texts{engine: liquid.New(values, time.Time{}).Limit(limits)}, nil
}

// text renders a template; nil is empty.
func (t *texts) text(field string, template *string) string {
	if t.err != nil || template == nil {
		return ""
	}
	out, err := t.engine.Render([]byte(*template))
	if err != nil {
		t.err = errcode.New(errcode.Invalid, "spec.clusterSpec.%s: %w", field, err)
	}
	return string(out)
}
