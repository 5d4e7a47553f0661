package render

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	renderv1 "github.com/axle-cd/axle/api/render/v1"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
)

// Lookup answers templates' questions about the cluster.
type Lookup interface {
	// Lookup returns the JSON of one live object, or of a list if name is empty; nil
	// if there is none (also if the kind is unknown). An error fails the pass: a
	// template must not mistake an outage for an absence.
	Lookup(ctx context.Context, key LookupKey) ([]byte, error)
}

// LookupKey identifies what a template looked up. An empty name lists.
type LookupKey struct {
	APIVersion, Kind, Namespace, Name string
}

// Pass is one render of one service.
type Pass struct {
	// Project keeps projects apart: two projects never share a child.
	Project string
	// ID, Name and Namespace are the service's.
	ID, Name, Namespace string
	// Folder holds the service's unpacked files.
	Folder string
	// Entry is the folder inside Folder where rendering starts; empty is the root.
	Entry string
	// Parts are the trees of a service with several parts; Folder and Entry are then
	// unused.
	Parts []Part
	// Steps are the renderers in order; empty means one AUTO step.
	Steps []Step
	// Plain disables Liquid for *.liquid files.
	Plain bool
	// Configuration is what templates see as configuration, secrets included.
	Configuration map[string]string
	// Cluster and Service are JSON objects that templates see by those names; empty
	// is an empty object.
	Cluster, Service json.RawMessage
	// Contexts and Imports are JSON objects of objects; empty means none.
	Contexts, Imports json.RawMessage
	// Capabilities are those of the cluster.
	Capabilities Capabilities
	// Now is the creation time of the revision, and what "now" means to
	// templates, so that rendering again changes nothing.
	Now time.Time
	// Tests returns charts' tests together with the applied objects.
	Tests bool
	// Text returns the objects as YAML for a person, in place of JSON.
	Text bool
	// Lookup answers lookups, and decides with which account; nil finds nothing, as
	// without a cluster.
	Lookup Lookup
}

// Capabilities are what a chart may ask about its cluster.
type Capabilities struct {
	// KubernetesVersion is such as "v1.36.3".
	KubernetesVersion string
	// APIVersions holds both "apps/v1" and "apps/v1/Deployment".
	APIVersions []string
	// AndKnown adds the built-in kinds of Kubernetes that the child knows, if there
	// is no cluster to ask.
	AndKnown bool
}

// FromSpec returns the pass of a service whose files are unpacked in folder. The
// caller adds capabilities and lookup, which are not in the spec.
func FromSpec(spec *agentv1.ServiceSpec, folder string) (Pass, error) {
	configuration := make(map[string]string, len(spec.GetConfiguration())+len(spec.GetSecrets()))
	for k, v := range spec.GetConfiguration() {
		configuration[k] = v
	}
	for k, v := range spec.GetSecrets() {
		configuration[k] = v
	}
	// Values of a chart are not what templates see.
	chartValues, secret := spec.GetSecrets()[specv1.ChartValues]
	if secret {
		delete(configuration, specv1.ChartValues)
	}
	cluster, err := clusterBinding(spec.GetCluster())
	if err != nil {
		return Pass{}, err
	}
	service, err := serviceBinding(spec)
	if err != nil {
		return Pass{}, err
	}
	declared := spec.Declared()
	return Pass{
		Project: spec.GetProject(), ID: spec.GetId(), Name: spec.GetName(), Namespace: spec.GetNamespace(),
		Folder: folder, Entry: spec.GetEntry(), Steps: stepsOf(declared, chartValues),
		Plain:         declared.Templated != nil && !*declared.Templated,
		Configuration: configuration, Cluster: cluster, Service: service,
		Contexts: json.RawMessage(spec.GetContexts()), Imports: json.RawMessage(spec.GetImports()),
		Now: time.UnixMicro(spec.GetDisplay().GetCreatedAt()).UTC(),
	}, nil
}

// begin returns the frame that starts the pass.
func (p Pass) begin(l layout) *renderv1.Begin {
	b := &renderv1.Begin{
		ServiceId: p.ID, Name: p.Name, Namespace: p.Namespace, Entry: l.base,
		Templated: !p.Plain, Configuration: p.Configuration,
		Cluster: string(p.Cluster), Service: string(p.Service),
		Contexts: string(p.Contexts), Imports: string(p.Imports),
		Capabilities: &renderv1.Capabilities{
			KubernetesVersion: p.Capabilities.KubernetesVersion, ApiVersions: p.Capabilities.APIVersions, AndKnown: p.Capabilities.AndKnown,
		},
		Now: p.Now.UnixMicro(), Tests: p.Tests, Text: p.Text,
	}
	for _, s := range p.Steps {
		b.Steps = append(b.Steps, s.message(l))
	}
	return b
}

func serviceBinding(spec *agentv1.ServiceSpec) (json.RawMessage, error) {
	out, err := json.Marshal(map[string]any{
		"id": spec.GetId(), "name": spec.GetName(), "namespace": spec.GetNamespace(),
		"helm": map[string]any{"release": spec.GetRender().GetHelm().GetRelease()},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the service's data for templates: %w", err)
	}
	return out, nil
}
