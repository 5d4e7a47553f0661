package kubeclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/similar"
)

// askAgain is how long an unknown kind stays unknown before discovery runs again: a
// service that uses one fails its pass every minute.
const askAgain = 5 * time.Second

// Kinds knows which kinds the API server serves. It is filled from inventories and
// from applied CRDs. Discovery runs only for a kind that neither names, so that a
// pass over known kinds makes no requests.
type Kinds struct {
	clock clock.Clock
	disco func() ([]kubeobj.Kind, error)

	mu    sync.Mutex
	known map[schema.GroupVersionKind]kubeobj.Kind
	asked time.Time
	fail  error
}

// NewKinds returns kinds that are looked up by cfg when they are first needed.
func NewKinds(cfg *rest.Config, c clock.Clock) (*Kinds, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Timeout = -1, requestLimit
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("discovery client of the API server: %w", err)
	}
	k := &Kinds{clock: c, known: map[schema.GroupVersionKind]kubeobj.Kind{}}
	k.disco = func() ([]kubeobj.Kind, error) { return discover(d) }
	return k, nil
}

func discover(d *discovery.DiscoveryClient) ([]kubeobj.Kind, error) {
	_, lists, err := d.ServerGroupsAndResources()
	if len(lists) == 0 && err != nil {
		return nil, err
	}
	var all []kubeobj.Kind
	for _, list := range lists {
		gv, parseErr := schema.ParseGroupVersion(list.GroupVersion)
		if parseErr != nil {
			continue
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "patch") {
				continue
			}
			all = append(all, kubeobj.Kind{Group: gv.Group, Version: gv.Version, Kind: r.Kind, Resource: r.Name, Namespaced: r.Namespaced})
		}
	}
	return all, err
}

// Learn adds kinds known from sources other than discovery.
func (k *Kinds) Learn(all ...kubeobj.Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, kind := range all {
		if kind.Resource != "" {
			k.known[schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}] = kind
		}
	}
}

// Forget drops a kind that the API server turned out not to serve.
func (k *Kinds) Forget(kind kubeobj.Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind})
}

// AskNow makes the next lookup of an unknown kind run discovery.
func (k *Kinds) AskNow() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = time.Time{}
}

// UnknownKind is the error for a kind that is not served.
type UnknownKind struct {
	Gvk schema.GroupVersionKind
	error
}

// Unwrap returns the error text.
func (u UnknownKind) Unwrap() error { return u.error }

// Lookup finds the kind. Invalid: the API server does not serve it.
// Unavailable: it could not be asked.
func (k *Kinds) Lookup(_ context.Context, gvk schema.GroupVersionKind) (kubeobj.Kind, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kind, ok := k.known[gvk]; ok {
		return kind, nil
	}
	if now := k.clock.Now(); k.asked.IsZero() || now.Sub(k.asked) >= askAgain {
		all, err := k.disco()
		if err != nil && len(all) == 0 {
			return kubeobj.Kind{}, Unavailable(err)
		}
		k.asked, k.fail = now, err
		for _, kind := range all {
			k.known[schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}] = kind
		}
	}
	if kind, ok := k.known[gvk]; ok {
		return kind, nil
	}
	return kubeobj.Kind{}, UnknownKind{gvk, k.unknown(gvk)}
}

// removed are kinds that Kubernetes removed without the same kind in another group, with the
// version and what took their place (kubernetes.io, deprecation guide).
var removed = map[schema.GroupKind]string{
	{Group: "policy", Kind: "PodSecurityPolicy"}:           "1.25; label the namespace for Pod Security Admission",
	{Group: "extensions", Kind: "PodSecurityPolicy"}:       "1.16; label the namespace for Pod Security Admission",
	{Group: "settings.k8s.io", Kind: "PodPreset"}:          "1.20; use a mutating admission policy",
	{Group: "auditregistration.k8s.io", Kind: "AuditSink"}: "1.19; use the API server's audit policy",
}

// unknown says why a kind is not served, and what to change.
func (k *Kinds) unknown(gvk schema.GroupVersionKind) error {
	if k.fail != nil && mayServe(k.fail, gvk.GroupVersion()) {
		// Only services that need that API wait for it.
		return errcode.New(errcode.Unprocessable, "kind %s of %s: the API server could not list all of its APIs (%v); tried again", gvk.Kind, gvk.GroupVersion(), k.fail)
	}
	var versions, groups, kinds []string
	for other := range k.known {
		switch {
		case other.GroupKind() == gvk.GroupKind():
			versions = append(versions, other.GroupVersion().String())
		case other.Kind == gvk.Kind && builtIn(gvk.Group):
			groups = append(groups, other.GroupVersion().String())
		case other.Group == gvk.Group:
			kinds = append(kinds, other.Kind)
		}
	}
	for _, list := range [][]string{versions, groups, kinds} {
		slices.Sort(list)
	}
	if len(versions) > 0 {
		return errcode.New(errcode.Invalid, "kind %s is not served in %s; this cluster serves it in %s: change apiVersion",
			gvk.Kind, gvk.GroupVersion(), strings.Join(versions, ", "))
	}
	if since := removed[gvk.GroupKind()]; since != "" {
		return errcode.New(errcode.Invalid, "kind %s of %s was removed in Kubernetes %s, and take the object out", gvk.Kind, gvk.GroupVersion(), since)
	}
	if meant := similar.To(gvk.Kind, kinds); meant != "" {
		return errcode.New(errcode.Invalid, "kind %s of %s is unknown to this cluster: did you mean %s?", gvk.Kind, gvk.GroupVersion(), meant)
	}
	switch {
	case len(groups) > 0:
		return errcode.New(errcode.Invalid, "kind %s is not served in %s; this cluster serves it in %s: change apiVersion",
			gvk.Kind, gvk.GroupVersion(), strings.Join(groups, ", "))
	case builtIn(gvk.Group):
		return errcode.New(errcode.Invalid, "kind %s of %s is Kubernetes' own and is not served by this cluster's version: its deprecation guide names what took its place, or the kind needs a newer version",
			gvk.Kind, gvk.GroupVersion())
	}
	return errcode.New(errcode.Invalid, "kind %s of %s is unknown to this cluster: install its CustomResourceDefinition first, or render it in the same service",
		gvk.Kind, gvk.GroupVersion())
}

// builtIn reports whether a group is one of Kubernetes itself: no definition of a custom
// resource may have a group without a dot, and few of *.k8s.io are served by definitions.
func builtIn(group string) bool {
	switch group {
	case "rbac.authorization.k8s.io", "networking.k8s.io", "storage.k8s.io", "policy", "extensions", "scheduling.k8s.io", "admissionregistration.k8s.io",
		"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "node.k8s.io", "settings.k8s.io",
		"auditregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "resource.k8s.io", "internal.apiserver.k8s.io", "authentication.k8s.io", "authorization.k8s.io":
		return true
	}
	return !strings.Contains(group, ".")
}

// mayServe reports whether one of the lists that could not be read may have the kinds of a
// group: those of other groups that are down say nothing about it.
func mayServe(fail error, of schema.GroupVersion) bool {
	var some *discovery.ErrGroupDiscoveryFailed
	if !errors.As(fail, &some) {
		return true
	}
	for gv := range some.Groups {
		if gv.Group == of.Group {
			return true
		}
	}
	return false
}

// DefinedKinds returns the kinds that a CustomResourceDefinition will serve.
func DefinedKinds(crd *unstructured.Unstructured) []kubeobj.Kind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var all []kubeobj.Kind
	for _, item := range versions {
		v, _ := item.(map[string]any)
		name, _ := v["name"].(string)
		if served, _ := v["served"].(bool); served && name != "" && kind != "" && plural != "" {
			all = append(all, kubeobj.Kind{Group: group, Version: name, Kind: kind, Resource: plural, Namespaced: scope != "Cluster"})
		}
	}
	return all
}
