package clusterapi

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/axle-cd/axle/internal/clustertopology"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// Wish is what a person wants a cluster to be.
type Wish struct {
	Name string
	// Variables is a JSON object. Texts are more of them, each read as the type that its
	// schema has.
	Variables string
	Texts     map[string]string
	// Replaces says that texts may be in place of variables, and not only beside them.
	Replaces bool
	// Pool is a change of one node pool of Variables, or nil.
	Pool *PoolSize
}

// LongestCluster is the longest name of a cluster of a template: a namespace and names of
// Cluster API are made of it.
const LongestCluster = 40

// Composed are the objects of one cluster.
type Composed struct {
	// Version is that of Kubernetes.
	Version string
	// Variables is the JSON object with defaults, and Given without.
	Variables, Given string
	// Checks is what must hold once it is up, as fleet.Origin has it.
	Checks string
	// Files are manifests by their paths.
	Files map[string]string
}

// waveAnnotation orders the Cluster object after everything that it names: it is applied
// last, and when the service goes, it is deleted first and waited for. Agents give kinds that
// they do not know a wave below lastWave.
const (
	waveAnnotation = "axle-cd.github.io/sync-wave"
	lastWave       = "1000"
)

// Compose makes the objects of one cluster. Errors are Invalid and name the field, or the
// check that does not hold.
func (t Template) Compose(ctx context.Context, w Wish) (Composed, error) {
	var out Composed
	if !rule.Label.Valid(w.Name) || len(w.Name) > LongestCluster {
		return out, errcode.New(errcode.Invalid, "name: %.80q is not the name of a cluster of a template; use up to %d lower-case letters, digits and dashes", w.Name, LongestCluster)
	}
	given, err := t.schema.given(w)
	if err != nil {
		return out, err
	}
	values, err := t.schema.values(given)
	if err != nil {
		return out, err
	}
	if err := checkPools(values); err != nil {
		return out, err
	}
	if out.Version, _ = values["version"].(string); !kubernetesVersion.MatchString(out.Version) {
		return out, errcode.New(errcode.Invalid, "variables.version: %.40q is not a version of Kubernetes, such as v1.37.0", out.Version)
	}
	if err := t.about.before(ctx, values); err != nil {
		return out, err
	}
	for text, of := range map[*string]map[string]any{&out.Variables: values, &out.Given: given} {
		if *text, err = compact(of); err != nil {
			return out, err
		}
	}
	if out.Checks, err = t.about.after(); err != nil {
		return out, err
	}
	var class []any
	for _, o := range t.objects {
		class = append(class, o.Data)
	}
	out.Files = map[string]string{}
	for name, objects := range map[string][]any{"class.yaml": class, "cluster.yaml": {t.cluster(w.Name, values)}} {
		if out.Files[name], err = documents(objects); err != nil {
			return out, err
		}
	}
	return out, nil
}

// compact is a JSON object as text.
func compact(values map[string]any) (string, error) {
	text, err := json.Marshal(values)
	if err != nil {
		return "", errcode.New(errcode.Internal, "%w", err)
	}
	return string(text), nil
}

// cluster is the Cluster object.
func (t Template) cluster(name string, values map[string]any) map[string]any {
	class, _ := t.class.Data["spec"].(map[string]any)
	return map[string]any{
		"apiVersion": clusterVersion, "kind": clusterKind, "spec": clustertopology.Spec(class, t.class.name, values),
		"metadata": map[string]any{"name": name, "annotations": map[string]any{waveAnnotation: lastWave}},
	}
}

// documents writes objects as JSON, which is YAML: no text of theirs can end a document.
func documents(objects []any) (string, error) {
	var out strings.Builder
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			return "", errcode.New(errcode.Internal, "%w", err)
		}
		out.WriteString("---\n")
		out.Write(text)
		out.WriteString("\n")
	}
	return out.String(), nil
}
