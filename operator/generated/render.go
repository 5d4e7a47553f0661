package generated

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/liquid"
)

// The limits of one object: the operator renders it beside its other work.
const (
	maxSteps  = 10_000
	maxValue  = 64 << 10
	maxValues = 100
)

// rendered are the values of a Secret, with a hash of what each was made from.
type rendered struct {
	values map[string][]byte
	inputs map[string]string
}

// render renders a template, and keeps the values whose inputs are those of before.
// Invalid with the key.
func render(template, configuration map[string]string, before rendered) (rendered, error) {
	if len(template) > maxValues {
		return rendered{}, errcode.New(errcode.Invalid, "spec.template: has %d keys; at most %d are allowed", len(template), maxValues)
	}
	out := rendered{values: map[string][]byte{}, inputs: map[string]string{}}
	left, now := maxSteps, time.Now()
	values := map[string]any{}
	for key, value := range configuration {
		values[key] = value
	}
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
		engine := liquid.New(map[string]any{"configuration": values}, now).Limit(liquid.Limits{Steps: max(left, 1), Bytes: maxValue, Slow: true})
		if out.values[key], err = engine.Render([]byte(text)); err != nil {
			return rendered{}, errcode.New(errcode.Invalid, "spec.template.%s: %w", key, err)
		}
		if out.values[key] == nil {
			out.values[key] = []byte{}
		}
		left -= engine.Steps()
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
	values map[string]any
	left   int
	err    error
}

// maxClusterSteps are the steps of all templates for one cluster.
const maxClusterSteps = 1000

func newTexts(c *hubv1.Cluster) (*texts, error) {
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
	return &texts{left: maxClusterSteps, values: map[string]any{"cluster": map[string]any{
		"id": c.GetId(), "handle": c.GetHandle(), "name": c.GetName(), "project": c.GetProject(), "tags": tags, "metadata": metadata,
		"distro": c.GetDistro(), "version": c.GetKubernetesVersion(),
	}}}, nil
}

// text renders a template; nil is empty.
func (t *texts) text(field string, template *string) string {
	if t.err != nil || template == nil {
		return ""
	}
	engine := liquid.New(t.values, time.Time{}).Limit(liquid.Limits{Steps: max(t.left, 1), Bytes: maxValue})
	out, err := engine.Render([]byte(*template))
	switch t.left -= engine.Steps(); {
	case err != nil:
		t.err = errcode.New(errcode.Invalid, "spec.clusterSpec.%s: %w", field, err)
	case engine.Generated():
		t.err = errcode.New(errcode.Invalid, "spec.clusterSpec.%s: a filter whose result differs each time cannot be used here", field)
	}
	return string(out)
}
