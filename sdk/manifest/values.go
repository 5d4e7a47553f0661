package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/finalline"
)

// Values gives what the Secrets and ConfigMaps hold that an object refers to. An
// error names what is missing.
type Values interface {
	Secret(namespace, name string) (map[string]string, error)
	// ChartValues are the documents of a Secret, merged by MergeChartValues.
	ChartValues(namespace, name string) (string, error)
	ConfigMap(namespace, name string) (map[string]string, error)
	// Connection returns a ScmConnection, nil if there is none.
	Connection(name string) (*v1alpha1.ScmConnection, error)
	// Provider returns a Provider, nil if there is none.
	Provider(name string) (*v1alpha1.Provider, error)
	// Service returns a ServiceDeployment, nil if there is none.
	Service(namespace, name string) (*v1alpha1.ServiceDeployment, error)
	// Source returns a source of Flux, nil if there is none.
	Source(kind, namespace, name string) (*FluxSource, error)
}

// Object converts one object of an API server. Its kind and version must be set.
// where names it in errors.
func Object(object any, where string, values Values) (*Item, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%s: %w", where, err)
	}
	d := document{where: where, data: text}
	if err := json.Unmarshal(text, &d.meta); err != nil {
		return nil, errcode.New(errcode.Invalid, "%s: %w", where, err)
	}
	return d.read(values)
}

// files are the Secrets, ConfigMaps and sources of Flux among the documents.
type files struct {
	secrets    map[string]corev1.Secret
	configMaps map[string]corev1.ConfigMap
	// sources are by kind, namespace and name.
	sources     map[string]*FluxSource
	connections map[string]*v1alpha1.ScmConnection
	providers   map[string]*v1alpha1.Provider
	services    map[string]*v1alpha1.ServiceDeployment
}

// holdsValues reports whether the document is itself nothing for the hub.
func (d document) holdsValues() bool {
	return d.meta.APIVersion == "v1" && (d.meta.Kind == "Secret" || d.meta.Kind == "ConfigMap") || isFlux(d)
}

func (f files) add(d document) error {
	key := d.meta.Namespace + "/" + d.meta.Name
	switch {
	case d.meta.Kind == "ScmConnection" && d.meta.APIVersion == v1alpha1.GroupVersion.String():
		f.connections[d.meta.Name] = &v1alpha1.ScmConnection{}
		return d.strict(f.connections[d.meta.Name])
	case d.meta.Kind == "Provider" && d.meta.APIVersion == v1alpha1.GroupVersion.String():
		f.providers[d.meta.Name] = &v1alpha1.Provider{}
		return d.strict(f.providers[d.meta.Name])
	case d.meta.Kind == "ServiceDeployment" && d.meta.APIVersion == v1alpha1.GroupVersion.String():
		f.services[key] = &v1alpha1.ServiceDeployment{}
		return d.strict(f.services[key])
	case !d.holdsValues():
		return nil
	case isFlux(d):
		text, err := yaml.YAMLToJSON(d.data)
		if err != nil {
			return errcode.New(errcode.Invalid, "%s: %w", d.where, err)
		}
		f.sources[d.meta.Kind+"/"+key], err = ReadFlux(text, d.where)
		return err
	case d.meta.Kind == "Secret":
		var secret corev1.Secret
		err := d.strict(&secret)
		f.secrets[key] = secret
		return err
	default:
		var configMap corev1.ConfigMap
		err := d.strict(&configMap)
		f.configMaps[key] = configMap
		return err
	}
}

// Secret implements Values.
func (f files) Secret(namespace, name string) (map[string]string, error) {
	secret, ok := f.secrets[namespace+"/"+name]
	if !ok {
		return nil, errcode.New(errcode.Invalid, "Secret %s/%s is not among the files; add it, so that its values can be sent", namespace, name)
	}
	values := map[string]string{}
	for k, v := range secret.Data {
		values[k] = finalline.Cut(string(v))
	}
	for k, v := range secret.StringData {
		values[k] = finalline.Cut(v)
	}
	return values, nil
}

// ChartValues implements Values.
func (f files) ChartValues(namespace, name string) (string, error) {
	held, err := f.Secret(namespace, name)
	if err != nil {
		return "", err
	}
	return MergeChartValues(held, namespace+"/"+name)
}

// ConfigMap implements Values.
func (f files) ConfigMap(namespace, name string) (map[string]string, error) {
	configMap, ok := f.configMaps[namespace+"/"+name]
	if !ok {
		return nil, errcode.New(errcode.Invalid, "ConfigMap %s/%s is not among the files; add it, so that its values can be sent", namespace, name)
	}
	return configMap.Data, nil
}

// Connection implements Values.
func (f files) Connection(name string) (*v1alpha1.ScmConnection, error) {
	return f.connections[name], nil
}

// Provider implements Values.
func (f files) Provider(name string) (*v1alpha1.Provider, error) { return f.providers[name], nil }

// Service implements Values.
func (f files) Service(namespace, name string) (*v1alpha1.ServiceDeployment, error) {
	return f.services[namespace+"/"+name], nil
}

// Source implements Values. A source without a namespace is meant by every one, as it gets
// that of the service which applies it.
func (f files) Source(kind, namespace, name string) (*FluxSource, error) {
	for _, in := range []string{namespace, ""} {
		if s := f.sources[kind+"/"+in+"/"+name]; s != nil {
			return s, nil
		}
	}
	return nil, nil
}

func (d document) secret(values Values, ref *v1alpha1.SecretReference, namespace string) (map[string]string, error) {
	held, err := values.Secret(cmp.Or(ref.Namespace, namespace), ref.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.where, err)
	}
	return held, nil
}

// context merges the sources of the values: a later one wins, secrets over all.
func (d document) context(values Values) (*Item, error) {
	var object v1alpha1.ServiceContext
	if err := d.strict(&object); err != nil {
		return nil, err
	}
	spec, all := object.Spec, map[string]any{}
	if spec.Configuration != nil {
		decoder := json.NewDecoder(bytes.NewReader(spec.Configuration.Raw))
		decoder.UseNumber()
		if err := decoder.Decode(&all); err != nil || all == nil {
			return nil, errcode.New(errcode.Invalid, "%s: ServiceContext %q: spec.configuration is not a JSON object", d.where, object.Name)
		}
	}
	for _, ref := range ConfigMapsOf(spec, object.Namespace) {
		held, err := values.ConfigMap(*ref.Namespace, ref.Name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.where, err)
		}
		merge(all, held, value(ref.Scope))
	}
	out := &hubv1.Context{Name: cmp.Or(value(spec.Name), object.Name)}
	if spec.ProjectRef != nil {
		out.Project = spec.ProjectRef.Name
	}
	if spec.SecretRef != nil {
		held, err := d.secret(values, spec.SecretRef, object.Namespace)
		if err != nil {
			return nil, err
		}
		out.Secrets = held
		maps.DeleteFunc(all, func(key string, _ any) bool { _, secret := held[key]; return secret })
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%s: ServiceContext %q: %w", d.where, object.Name, err)
	}
	out.Values = string(text)
	return &Item{Kind: d.meta.Kind, Name: out.GetName(), Where: d.where,
		Request:   &hubv1.CreateContextRequest{Context: out},
		NotActing: set(map[string]bool{"spec.reconciliation": spec.Reconciliation != nil}),
	}, nil
}

// ConfigMapsOf returns the ConfigMaps of a context in the order in which they are
// merged, each with its namespace.
func ConfigMapsOf(spec v1alpha1.ServiceContextSpec, namespace string) []v1alpha1.ConfigMapReference {
	var refs []v1alpha1.ConfigMapReference
	if ref := spec.ConfigMapRef; ref != nil {
		refs = append(refs, v1alpha1.ConfigMapReference{Name: ref.Name, Namespace: &ref.Namespace})
	}
	refs = append(refs, spec.ConfigMapRefs...)
	for i, ref := range refs {
		in := cmp.Or(value(ref.Namespace), namespace)
		refs[i].Namespace = &in
	}
	return refs
}

// merge puts values into all, or into the object at scope.
func merge(all map[string]any, values map[string]string, scope string) {
	into := all
	if scope != "" {
		inner, isObject := all[scope].(map[string]any)
		if !isObject {
			inner = map[string]any{}
		}
		all[scope], into = inner, inner
	}
	for k, v := range values {
		into[k] = v
	}
}

// SameJSON reports whether two JSON texts mean the same; empty is an empty object.
func SameJSON(a, b string) bool {
	parse := func(text string) any {
		if text == "" {
			text = "{}"
		}
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return text
		}
		return v
	}
	return reflect.DeepEqual(parse(a), parse(b))
}
