package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/axle-cd/axle/internal/errcode"
)

// ValueSet is a named set of values that services bind: a context, or the outputs
// that they import. It is stored as its JSON.
type ValueSet struct {
	// Values may have any JSON type.
	Values map[string]any `json:"values,omitempty"`
	// Secrets are texts that no answer, log or event contains.
	Secrets map[string]string `json:"secrets,omitempty"`
}

// Layer is a kind of source that a value comes from.
type Layer string

// The layers, the weakest first: where two have a key, the later one wins.
const (
	LayerCluster   Layer = "cluster"
	LayerContext   Layer = "context"
	LayerImport    Layer = "import"
	LayerService   Layer = "service"
	LayerReference Layer = "reference"
)

// LayerValue is the value of a key in one layer.
type LayerValue struct {
	Layer Layer
	// Source identifies it: a context's name, a backend and a path.
	Source string
	Value  string
	Secret bool
}

// reference is a value that was read from a backend, with its origin.
type reference struct {
	SecretRef
	Value string `json:"value"`
}

// ownValues is the document of the values that only one service has.
type ownValues struct {
	Secrets    map[string]string    `json:"secrets,omitempty"`
	References map[string]reference `json:"references,omitempty"`
}

func (o ownValues) empty() bool { return len(o.Secrets) == 0 && len(o.References) == 0 }

// from returns where the references were read.
func (o ownValues) from() map[string]SecretRef {
	from := make(map[string]SecretRef, len(o.References))
	for key, r := range o.References {
		from[key] = r.SecretRef
	}
	return from
}

// version names the documents of a service's configuration. Its text is stored
// in the column of the secrets, with own first.
type version struct {
	Own      string            `json:"own"`
	Contexts map[string]string `json:"contexts,omitempty"`
	Imports  map[string]string `json:"imports,omitempty"`
	// sealed are the secrets of a row that is older than documents.
	sealed string
}

func (v version) empty() bool {
	return v.Own == "" && len(v.Contexts) == 0 && len(v.Imports) == 0 && v.sealed == ""
}

// text returns the column's value; empty when there is nothing.
func (v version) text() (string, error) {
	if v.empty() || v.sealed != "" {
		return v.sealed, nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

func parseVersion(text string) (v version, err error) {
	if text == "" {
		return v, nil
	}
	if text[0] != '{' {
		return version{sealed: text}, nil
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return v, errcode.New(errcode.Internal, "the stored references of a service's configuration cannot be read; set its secrets again")
	}
	return v, nil
}

// Documents returns the ids of the documents in a service's column of secrets.
func Documents(text string) ([]string, error) {
	v, err := parseVersion(text)
	return v.documents(), err
}

// documents returns all documents that the version names.
func (v version) documents() []string {
	var ids []string
	if v.Own != "" {
		ids = append(ids, v.Own)
	}
	ids = slices.AppendSeq(ids, maps.Values(v.Contexts))
	return slices.AppendSeq(ids, maps.Values(v.Imports))
}

// opened holds the values that a version names.
type opened struct {
	own      ownValues
	contexts map[string]ValueSet
	imports  map[string]ValueSet
}

// layers returns, per key, the values of all layers, the strongest first.
func (o opened) layers(spec Spec, cluster ClusterData) (map[string][]LayerValue, error) {
	all := map[string][]LayerValue{}
	add := func(key string, v LayerValue) { all[key] = append([]LayerValue{v}, all[key]...) }
	valueSet := func(layer Layer, name string, b ValueSet) error {
		for key, value := range b.Values {
			text, err := asText(value)
			if err != nil {
				return fmt.Errorf("%s %s: %s: %w", layer, name, key, err)
			}
			add(key, LayerValue{Layer: layer, Source: name, Value: text})
		}
		for key, value := range b.Secrets {
			add(key, LayerValue{Layer: layer, Source: name, Value: value, Secret: true})
		}
		return nil
	}
	metadata, err := jsonObject(cluster.Metadata)
	if err != nil {
		return nil, fmt.Errorf("metadata of cluster %s: %w", cluster.Name, err)
	}
	if err := valueSet(LayerCluster, cluster.Name, ValueSet{Values: metadata}); err != nil {
		return nil, err
	}
	for _, name := range spec.Contexts {
		if err := valueSet(LayerContext, name, o.contexts[name]); err != nil {
			return nil, err
		}
	}
	for _, i := range spec.Imports {
		if err := valueSet(LayerImport, i.Stack, o.imports[i.Stack]); err != nil {
			return nil, err
		}
	}
	for key, value := range spec.Configuration {
		add(key, LayerValue{Layer: LayerService, Value: value})
	}
	for key, value := range o.own.Secrets {
		add(key, LayerValue{Layer: LayerService, Value: value, Secret: true})
	}
	for key, r := range o.own.References {
		add(key, LayerValue{Layer: LayerReference, Source: referenceText(r.SecretRef), Value: r.Value, Secret: true})
	}
	return all, nil
}

// referenceText returns a reference as the command line writes it.
func referenceText(r SecretRef) string {
	text := cmp.Or(r.Backend, "default") + ":" + r.Path
	if r.Key != "" {
		text += "#" + r.Key
	}
	return text
}

// merged returns a value set as templates see it: secrets beside plain values.
func (b ValueSet) merged() map[string]any {
	all := make(map[string]any, len(b.Values)+len(b.Secrets))
	maps.Copy(all, b.Values)
	for key, value := range b.Secrets {
		all[key] = value
	}
	return all
}

// bagsJSON returns contexts or imports as templates see them; empty for none.
func valueSetsJSON(valueSets map[string]ValueSet) (string, error) {
	if len(valueSets) == 0 {
		return "", nil
	}
	all := make(map[string]any, len(valueSets))
	for name, b := range valueSets {
		all[name] = b.merged()
	}
	return asText(all)
}
