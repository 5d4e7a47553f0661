// Package reference has what custom resources name: references, how they are found again when
// the other object changes, and the objects that were read for the conversion by
// sdk/manifest. It reads nothing and decides nothing; operator/controller does both.
//
// Invariant: of a Secret, Marks show a version and never a value.
package reference

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/finalline"
	"github.com/axle-cd/axle/operator/tenancy"
	"github.com/axle-cd/axle/sdk/manifest"
)

// The kinds that are only referred to.
const (
	Secret    = "Secret"
	ConfigMap = "ConfigMap"
)

// Reference is an object that another one names.
type Reference struct {
	// Field is the path of the field that names it.
	Field string
	Kind  string
	// At has no namespace for a cluster-scoped kind, whatever the reference says.
	At types.NamespacedName
	// Written says that the operator writes it, and that it need not exist.
	Written bool
	// By is the kind that names it, if that is another object's than the one that is
	// reconciled.
	By string
	// Flux says that it is a source of Flux; Optional that it is one only if it exists,
	// and may be named. An Optional ConfigMap need not exist.
	Flux, Optional bool
}

// Key is the reference's key in the index of references.
func (r Reference) Key() string {
	if r.Flux {
		return "Flux " + r.Kind + " " + r.At.String()
	}
	return r.Kind + " " + r.At.String()
}

// Into is the key in the same index of references that leave the namespace for another.
func Into(namespace string) string { return "into " + namespace }

// To returns a reference by an ObjectReference to a namespaced kind; none for nil.
func To(field, kind string, ref *v1alpha1.ObjectReference, namespace string) []Reference {
	if ref == nil || ref.Name == "" {
		return nil
	}
	if ref.Namespace != "" {
		namespace = ref.Namespace
	}
	return []Reference{{Field: field, Kind: kind, At: types.NamespacedName{Namespace: namespace, Name: ref.Name}}}
}

// ToGlobal is To for a cluster-scoped kind: a namespace in the reference is ignored.
func ToGlobal(field, kind string, ref *v1alpha1.ObjectReference) []Reference {
	if ref == nil || ref.Name == "" {
		return nil
	}
	return []Reference{{Field: field, Kind: kind, At: types.NamespacedName{Name: ref.Name}}}
}

// ToSecret is To for a Secret.
func ToSecret(field string, ref *v1alpha1.SecretReference, namespace string) []Reference {
	if ref == nil {
		return nil
	}
	return To(field, Secret, &v1alpha1.ObjectReference{Name: ref.Name, Namespace: ref.Namespace}, namespace)
}

// ToFlux is a reference to a source of Flux.
func ToFlux(field, kind, namespace, name string) Reference {
	return Reference{Field: field, Kind: kind, At: types.NamespacedName{Namespace: namespace, Name: name}, Flux: true}
}

// OfFlux is ToFlux for a field; none for nil.
func OfFlux(field string, ref *v1alpha1.ObjectReference, namespace string) []Reference {
	if ref == nil {
		return nil
	}
	return []Reference{ToFlux(field, ref.Kind, cmp.Or(ref.Namespace, namespace), ref.Name)}
}

// Keys are the keys of references.
func Keys(refs []Reference) (keys []string) {
	for _, ref := range refs {
		keys = append(keys, ref.Key())
	}
	return keys
}

// Resolved are the objects that references name, by their keys. It is the
// manifest.Values of the conversion.
type Resolved map[string]any

// Project replaces the name of a Project by its name in the hub.
func (r Resolved) Project(ref *v1alpha1.ObjectReference) {
	for _, found := range ToGlobal("", "Project", ref) {
		if p, ok := r[found.Key()].(*v1alpha1.Project); ok {
			ref.Name = p.Spec.Name
		}
	}
}

// Cluster returns the handle of a Cluster, empty without a reference.
func (r Resolved) Cluster(ref *v1alpha1.ObjectReference, namespace string) string {
	for _, found := range To("", "Cluster", ref, namespace) {
		if c, ok := r[found.Key()].(*v1alpha1.Cluster); ok {
			if c.Spec.Handle != nil && *c.Spec.Handle != "" {
				return *c.Spec.Handle
			}
			return c.Name
		}
	}
	return ""
}

// Secret implements manifest.Values.
func (r Resolved) Secret(namespace, name string) (map[string]string, error) {
	ref := Reference{Kind: Secret, At: types.NamespacedName{Namespace: namespace, Name: name}}
	secret, ok := r[ref.Key()].(*corev1.Secret)
	if !ok {
		return nil, errcode.New(errcode.Invalid, "Secret %s was not read", tenancy.Written(ref.At))
	}
	values := map[string]string{}
	for k, v := range secret.Data {
		values[k] = finalline.Cut(string(v))
	}
	return values, nil
}

// ChartValues implements manifest.Values.
func (r Resolved) ChartValues(namespace, name string) (string, error) {
	held, err := r.Secret(namespace, name)
	if err != nil {
		return "", err
	}
	return manifest.MergeChartValues(held, namespace+"/"+name)
}

// ConfigMap implements manifest.Values.
func (r Resolved) ConfigMap(namespace, name string) (map[string]string, error) {
	ref := Reference{Kind: ConfigMap, At: types.NamespacedName{Namespace: namespace, Name: name}}
	configMap, ok := r[ref.Key()].(*corev1.ConfigMap)
	if !ok {
		return nil, errcode.New(errcode.Invalid, "ConfigMap %s was not read", tenancy.Written(ref.At))
	}
	return configMap.Data, nil
}

// Marks are Resolved with the version of the object in place of each value.
type Marks struct{ Resolved }

// Secret implements manifest.Values.
func (m Marks) Secret(namespace, name string) (map[string]string, error) {
	values, err := m.Resolved.Secret(namespace, name)
	for k := range values {
		values[k] = m.mark(namespace, name)
	}
	return values, err
}

// ChartValues implements manifest.Values.
func (m Marks) ChartValues(namespace, name string) (string, error) {
	_, err := m.Resolved.Secret(namespace, name)
	if err != nil {
		return "", err
	}
	return m.mark(namespace, name), nil
}

// mark is the version of a Secret that was read.
func (m Marks) mark(namespace, name string) string {
	object := m.Resolved[Reference{Kind: Secret, At: types.NamespacedName{Namespace: namespace, Name: name}}.Key()].(*corev1.Secret)
	return string(object.GetUID()) + "/" + object.GetResourceVersion()
}

// Source implements manifest.Values.
func (r Resolved) Source(kind, namespace, name string) (*manifest.FluxSource, error) {
	s, _ := r[ToFlux("", kind, namespace, name).Key()].(*manifest.FluxSource)
	return s, nil
}

// Service implements manifest.Values. Its cluster is named as the hub names it.
func (r Resolved) Service(namespace, name string) (*v1alpha1.ServiceDeployment, error) {
	s, ok := r[Reference{Kind: "ServiceDeployment", At: types.NamespacedName{Namespace: namespace, Name: name}}.Key()].(*v1alpha1.ServiceDeployment)
	if !ok {
		return nil, nil
	}
	s = s.DeepCopy()
	if handle := r.Cluster(s.Spec.ClusterRef, s.Namespace); handle != "" {
		s.Spec.Cluster = &handle
	}
	return s, nil
}

// Provider implements manifest.Values.
func (r Resolved) Provider(name string) (*v1alpha1.Provider, error) {
	p, _ := r[Reference{Kind: "Provider", At: types.NamespacedName{Name: name}}.Key()].(*v1alpha1.Provider)
	return p, nil
}

// Connection implements manifest.Values.
func (r Resolved) Connection(name string) (*v1alpha1.ScmConnection, error) {
	c, _ := r[Reference{Kind: "ScmConnection", At: types.NamespacedName{Name: name}}.Key()].(*v1alpha1.ScmConnection)
	return c, nil
}
