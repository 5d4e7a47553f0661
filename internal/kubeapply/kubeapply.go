package kubeapply

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/secreterror"
)

// requestTimeout bounds each request, unless the configuration has a limit.
const requestTimeout = 30 * time.Second

// Applier writes objects to one cluster.
type Applier struct {
	// Client reaches the cluster.
	Client dynamic.Interface
	// Config is what it was made of.
	Config *rest.Config
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// New returns an Applier after the cluster has answered once. Errors are Invalid or
// Unavailable.
func New(config *rest.Config) (*Applier, error) {
	config = rest.CopyConfig(config)
	config.Timeout = cmp.Or(config.Timeout, requestTimeout)
	if config.QPS == 0 {
		config.QPS, config.Burst = 100, 200
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "kubeconfig: %w", err)
	}
	apis, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "kubeconfig: %w", err)
	}
	if _, err := apis.ServerVersion(); err != nil {
		return nil, errcode.New(errcode.Unavailable, "the cluster at %s does not answer: %w", config.Host, err)
	}
	return &Applier{Client: client, Config: config, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(apis))}, nil
}

// Name is an object as people write it, such as deployment/axle-agent.
func Name(object *unstructured.Unstructured) string {
	return strings.ToLower(object.GetKind()) + "/" + object.GetName()
}

// Documents reads the objects of a text of YAML documents; empty ones are left out.
func Documents(text []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+string(text), "\n---") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, errcode.New(errcode.Internal, "the manifests are not YAML: %w", err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

// Resource returns the client for an object's kind and namespace.
func (a *Applier) Resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := a.mapping(kind)
	if meta.IsNoMatchError(err) {
		return nil, errcode.New(errcode.Unavailable, "the cluster at %s does not know the kind %s of %s: install what defines it first", a.Config.Host, kind.Kind, kind.GroupVersion())
	}
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "the cluster at %s: %w", a.Config.Host, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return a.Client.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
	}
	return a.Client.Resource(mapping.Resource), nil
}

// mapping finds the resource of a kind. A kind that was not there may have been defined
// since, so it is asked for again.
func (a *Applier) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		a.mapper.Reset()
		return a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	return mapping, err
}

// Knows reports whether the cluster has the kind of an object.
func (a *Applier) Knows(object *unstructured.Unstructured) (bool, error) {
	_, err := a.mapping(object.GroupVersionKind())
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, errcode.New(errcode.Unavailable, "the cluster at %s: %w", a.Config.Host, err)
	}
	return true, nil
}

// Apply writes an object as a field manager, which takes fields from others.
func (a *Applier) Apply(ctx context.Context, object *unstructured.Unstructured, manager string) error {
	resource, err := a.Resource(object)
	if err != nil {
		return err
	}
	_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: manager, Force: true})
	err = secreterror.OfKind(object.GroupVersionKind().Group, object.GetKind(), err)
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return errcode.New(errcode.Forbidden, "apply %s: %w", Name(object), err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return errcode.New(errcode.Invalid, "apply %s: %w", Name(object), err)
	}
	return errcode.New(errcode.Unavailable, "apply %s: %w", Name(object), err)
}

// ApplyAll writes the documents of a text in order, and tells each.
func (a *Applier) ApplyAll(ctx context.Context, text []byte, manager string, wrote func(name string)) error {
	objects, err := Documents(text)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := a.Apply(ctx, object, manager); err != nil {
			return err
		}
		wrote(Name(object))
	}
	return nil
}

// listed is a list of one kind, as plain objects.
func (a *Applier) listed(ctx context.Context, resource string) ([]unstructured.Unstructured, error) {
	group, name, _ := strings.Cut(resource, "/")
	mapped, err := a.mapper.ResourceFor(schemaOf(group, name))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", name, err)
	}
	list, err := a.Client.Resource(mapped).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", name, err)
	}
	return list.Items, nil
}
