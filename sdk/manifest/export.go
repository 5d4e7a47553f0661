package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/spec/convert"
	"github.com/axle-cd/axle/api/spec/kind"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jsondiff"
)

// Exported is an object that declares what the hub has: read again, it changes nothing.
type Exported struct {
	// Kind and Name are those of the Item that it is read as.
	Kind, Name string
	// Object is a pointer to the kind's type.
	Object any
	// Notes say, in one sentence each, what of the hub's object the kind does not have.
	// Reading the object again leaves that as it is.
	Notes []string
}

// Exporter converts objects of the hub to the objects that declare them. It is the
// inverse of Read.
type Exporter struct {
	// Namespace of the exported objects. With it, they are for the operator: a service
	// whose namespace follows from its name then has it written out, because in a
	// cluster the namespace of the object would be used. Empty is for axle apply.
	Namespace string
}

// keys are the keys of a map, sorted.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// set or unset: a pointer to v, nil for the zero value.
func unlessZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func reference(name string) *v1alpha1.ObjectReference {
	if name == "" {
		return nil
	}
	return &v1alpha1.ObjectReference{Name: name}
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}
}

// meta are the metadata of an object that is named after the hub's.
func (e Exporter) meta(namespaced bool, name string, secrets []string) (metav1.ObjectMeta, error) {
	m := metav1.ObjectMeta{Name: name}
	if namespaced {
		m.Namespace = e.Namespace
	}
	for _, key := range secrets {
		if key != strings.TrimSpace(key) || strings.Contains(key, ",") || key == "" {
			return m, errcode.New(errcode.Unprocessable, "%s: the secret %q cannot be named in a manifest, because of its commas or blanks", name, key)
		}
	}
	if len(secrets) > 0 {
		m.Annotations = map[string]string{StoredSecrets: strings.Join(secrets, ",")}
	}
	return m, nil
}

// objectName is a name in the hub as the name of an object, which other objects of the
// kind may have too if it had to be changed.
func objectName(name string) string {
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	valid := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return strings.Trim(valid[:min(len(valid), validation.DNS1123SubdomainMaxLength)], "-.")
}

// Project exports a project.
func (e Exporter) Project(p *hubv1.Project) (Exported, error) {
	out := Exported{Kind: "Project", Name: p.GetName(), Object: &v1alpha1.Project{
		TypeMeta: typeMeta("Project"), ObjectMeta: metav1.ObjectMeta{Name: objectName(p.GetName())},
		Spec: v1alpha1.ProjectSpec{Name: p.GetName(), Description: unlessZero(p.GetDescription())},
	}}
	return out, out.leaves("limits", p.GetLimits(), &hubv1.ProjectLimits{}, nil)
}

// Cluster exports what a cluster is declared to be. It never creates one. The hub finds a
// cluster by its name, so a handle that differs is not in the manifest.
func (e Exporter) Cluster(c *hubv1.Cluster) (Exported, error) {
	name := c.GetName()
	spec := v1alpha1.ClusterSpec{Tags: map[string]string{}, Handle: &name}
	out := Exported{Kind: "Cluster", Name: name}
	if handle := c.GetHandle(); handle != "" && handle != name {
		spec.Handle = nil
		out.Notes = append(out.Notes, fmt.Sprintf("The handle is %s; the hub keeps it.", handle))
	}
	maps.Copy(spec.Tags, c.GetTags())
	if text := c.GetMetadata(); !SameJSON(text, "") {
		spec.Metadata = &runtime.RawExtension{Raw: []byte(text)}
	}
	out.Object = &v1alpha1.Cluster{
		TypeMeta: typeMeta("Cluster"), ObjectMeta: metav1.ObjectMeta{Name: objectName(name), Namespace: e.Namespace}, Spec: spec,
	}
	return out, nil
}

// Context exports a context. Its secrets stay in the hub.
func (e Exporter) Context(c *hubv1.Context) (Exported, error) {
	name := c.GetName()
	meta, err := e.meta(true, objectName(name), keys(c.GetSecrets()))
	spec := v1alpha1.ServiceContextSpec{ProjectRef: reference(c.GetProject()), Configuration: &runtime.RawExtension{Raw: []byte(cmp.Or(c.GetValues(), "{}"))}}
	if meta.Name != name {
		spec.Name = &name
	}
	return Exported{Kind: "ServiceContext", Name: name, Object: &v1alpha1.ServiceContext{TypeMeta: typeMeta("ServiceContext"), ObjectMeta: meta, Spec: spec}}, err
}

// Service exports a service. Its secrets stay in the hub.
func (e Exporter) Service(s *hubv1.Service) (Exported, error) {
	out := Exported{Kind: "ServiceDeployment", Name: s.GetCluster() + "/" + s.GetName()}
	// The name of a service has no dots, so that no other one has the same.
	meta, err := e.meta(true, objectName(s.GetName()+"."+s.GetCluster()), keys(s.GetSpec().GetSecrets()))
	if err != nil {
		return out, err
	}
	spec, err := out.spec(s.GetSpec())
	spec.Name, spec.Cluster, spec.ProjectRef = unlessZero(s.GetName()), unlessZero(s.GetCluster()), reference(ownProject(s.GetProject()))
	spec.Namespace = e.namespaceOf(&out, spec.Namespace, s.GetName())
	out.Object = &v1alpha1.ServiceDeployment{TypeMeta: typeMeta("ServiceDeployment"), ObjectMeta: meta, Spec: spec}
	return out, err
}

// ownProject is a project that an object names: a service is in the default project if its
// cluster is.
func ownProject(name string) string {
	if name == "default" {
		return ""
	}
	return name
}

// namespaceOf is the namespace that the object of a service says.
func (e Exporter) namespaceOf(out *Exported, declared *string, name string) *string {
	switch {
	case declared != nil:
		return declared
	case e.Namespace != "":
		return &name
	}
	out.Notes = append(out.Notes, fmt.Sprintf("The namespace on the cluster is %s, the name of the service. Set spec.namespace before this object gets a metadata.namespace.", name))
	return nil
}

// Global exports a global service. Its secrets stay in the hub.
func (e Exporter) Global(g *hubv1.GlobalService) (Exported, error) {
	name, settings := g.GetName(), g.GetSettings()
	out := Exported{Kind: "GlobalService", Name: name}
	meta, err := e.meta(true, objectName(name), keys(g.GetSpec().GetSecrets()))
	if err != nil {
		return out, err
	}
	declared, err := out.spec(g.GetSpec())
	template := declared.ServiceTemplate
	template.Namespace = e.namespaceOf(&out, template.Namespace, name)
	spec := v1alpha1.GlobalServiceSpec{
		Template: &template, Tags: settings.GetTags(), Distro: unlessZero(settings.GetDistro()), ProjectRef: reference(settings.GetProject()),
		IgnoreClusters: settings.GetIgnoreClusters(), Reparent: unlessZero(settings.GetReparent()),
	}
	if settings != nil {
		spec.Mgmt = settings.Mgmt
	}
	if meta.Name != name {
		spec.Name = &name
	}
	spec.Cascade = exportedCascade(settings.GetCascade())
	if interval := settings.GetIntervalMicros(); interval != 0 {
		spec.Interval = unlessZero((time.Duration(interval) * time.Microsecond).String())
	}
	if plan := settings.GetRollout(); plan != nil {
		spec.Rollout = exportedRollout(plan)
	}
	if text := settings.GetContext(); text != "" {
		spec.Context = &v1alpha1.TemplateContext{Raw: &runtime.RawExtension{Raw: []byte(text)}}
	}
	out.Object = &v1alpha1.GlobalService{TypeMeta: typeMeta("GlobalService"), ObjectMeta: meta, Spec: spec}
	return out, err
}

// spec is the spec of a service as its kind has it. An error names what the kind cannot
// say: reading the object again would change that.
func (x *Exported) spec(message *hubv1.ServiceSpec) (v1alpha1.ServiceDeploymentSpec, error) {
	var spec specv1.Spec
	convert.Copy(&spec, message)
	spec.Secrets = nil
	declared := kind.Declared(spec)
	again, err := kind.Spec(declared)
	if err != nil {
		return declared, err
	}
	lost, err := jsondiff.Messages(spec, again)
	if err == nil && len(lost) > 0 {
		err = errcode.New(errcode.Unprocessable, "%s %s: %s has no field in the kind", x.Kind, x.Name, lost[0].Path)
	}
	return declared, err
}

// leaves adds a note for each setting that the kind does not have and that differs from
// what a new object gets. known are those that it has.
func (x *Exported) leaves(under string, have, fresh any, known []string) error {
	if changes, err := jsondiff.Messages(fresh, have); err == nil {
		for _, c := range changes {
			if top, _, _ := strings.Cut(c.Path, "."); c.New != nil && !slices.Contains(known, top) {
				x.Notes = append(x.Notes, fmt.Sprintf("The kind has no field for %s.%s; the hub keeps it.", under, c.Path))
			}
		}
		return nil
	} else {
		return err
	}
}

// YAML is the object as a document, after its notes as comments.
func (x Exported) YAML() ([]byte, error) {
	fields, err := x.Fields()
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(fields)
	if err != nil {
		return nil, errcode.New(errcode.Internal, "%s %s: %w", x.Kind, x.Name, err)
	}
	var out bytes.Buffer
	for _, note := range x.notes() {
		fmt.Fprintf(&out, "# %s\n", strings.Join(strings.Fields(note), " "))
	}
	out.Write(text)
	return out.Bytes(), nil
}

func (x Exported) notes() []string {
	object, ok := x.Object.(metav1.Object)
	if !ok || object.GetAnnotations()[StoredSecrets] == "" {
		return x.Notes
	}
	return append([]string{"Secrets are not exported. Those that the annotation names stay as the hub has them."}, x.Notes...)
}

// Fields is the object as a manifest has it, without status.
func (x Exported) Fields() (map[string]any, error) {
	text, err := json.Marshal(x.Object)
	if err != nil {
		return nil, errcode.New(errcode.Internal, "%s %s: %w", x.Kind, x.Name, err)
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, errcode.New(errcode.Internal, "%s %s: %w", x.Kind, x.Name, err)
	}
	delete(fields, "status")
	if meta, ok := fields["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
	}
	return fields, nil
}
