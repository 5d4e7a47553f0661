package ownertree

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubehealth"
)

const (
	maxNamespaces = 20
	maxReleases   = 20
	maxNodes      = 2000
	maxPages      = 10
	pageSize      = "200"
	// maxMessage bounds one object's message, in bytes.
	maxMessage = 1024
	// maxAnswer bounds what a page of objects becomes: its text has at most 32 MiB.
	maxAnswer = 128 << 20
)

// Flux names the release of the objects it creates in two labels.
const (
	releaseName      = "helm.toolkit.fluxcd.io/name"
	releaseNamespace = "helm.toolkit.fluxcd.io/namespace"
)

// Read gets a cluster's answer to path and query, with a person's rights. An error
// with the code not_found says that the object does not exist, and forbidden that the
// person may not see it; any other error ends the walk.
type Read func(ctx context.Context, path string) ([]byte, error)

// Grow finds what the roots own. What it could not see is in Tree.Notes. It returns
// an error only if nothing could be seen for a reason other than missing permissions.
func Grow(ctx context.Context, roots []Object, read Read) (*Tree, error) {
	w := &walk{read: read, tree: &Tree{}, byUID: map[string]*Node{}, byName: map[name]*Node{}, wanted: map[string]int{}}
	for _, root := range roots {
		n := &Node{Object: root}
		w.tree.Roots = append(w.tree.Roots, n)
		w.byName[nameOf(root)] = n
		if root.UID != "" {
			w.byUID[root.UID] = n
		}
		if these := ownedBy(root); these != 0 && root.Namespace != "" {
			w.wanted[root.Namespace] |= these
		}
	}
	err := w.releases(ctx)
	if err == nil {
		err = w.namespaces(ctx)
	}
	if err != nil && w.answers == 0 {
		return nil, err
	}
	if err != nil {
		w.note("the rest was not read: %s", errcode.Message(err))
	}
	w.tree.Roots = tidy(w.tree.Roots)
	w.tree.blame()
	return w.tree, nil
}

type name struct{ group, kind, namespace, name string }

func nameOf(o Object) name { return name{o.Group, o.Kind, o.Namespace, o.Name} }

// walk is one run of Grow.
type walk struct {
	read Read
	tree *Tree
	// byUID has all nodes, byName only the roots: a root that was recreated since its
	// agent reported it has another uid.
	byUID  map[string]*Node
	byName map[name]*Node
	// wanted are the kinds to list, by namespace.
	wanted map[string]int
	// answers and nodes are counts; full says that no more nodes are allowed.
	answers, nodes int
	full           bool
}

func (w *walk) note(format string, args ...any) {
	w.tree.Notes = append(w.tree.Notes, fmt.Sprintf(format, args...))
}

// get reads one answer; false means that there is none, and that this was noted.
func (w *walk) get(ctx context.Context, path, what string, into any) (bool, error) {
	text, err := w.read(ctx, path)
	switch {
	case errcode.Is(err, errcode.NotFound):
		w.answers++
		return false, nil
	case errcode.Is(err, errcode.Forbidden):
		w.answers++
		w.note("%s: %s", what, errcode.Message(err))
		return false, nil
	case err != nil:
		return false, err
	}
	w.answers++
	if err := bounded.JSON(text, into, maxAnswer); err != nil {
		return false, errcode.New(errcode.Unavailable, "the cluster's answer is not JSON: %w", err)
	}
	return true, nil
}

// releases finds the namespaces of the HelmReleases' objects.
func (w *walk) releases(ctx context.Context) error {
	seen := 0
	for _, n := range w.tree.Roots {
		if (schema.GroupKind{Group: n.Group, Kind: n.Kind}) != helmRelease || n.Namespace == "" || n.Version == "" {
			continue
		}
		if seen++; seen > maxReleases {
			w.note("only the first %d HelmReleases were read", maxReleases)
			return nil
		}
		var release struct {
			Spec struct {
				TargetNamespace string `json:"targetNamespace"`
			} `json:"spec"`
		}
		path := objectPath(schema.GroupVersion{Group: n.Group, Version: n.Version}, n.Namespace, "helmreleases", n.Name)
		there, err := w.get(ctx, path, "HelmRelease "+n.Namespace+"/"+n.Name, &release)
		if err != nil {
			return err
		}
		if target := release.Spec.TargetNamespace; there && target != "" {
			w.wanted[target] |= ownedBy(n.Object)
		}
	}
	return nil
}

func (w *walk) namespaces(ctx context.Context) error {
	all := slices.Sorted(maps.Keys(w.wanted))
	if len(all) > maxNamespaces {
		w.note("only the first %d of %d namespaces were read", maxNamespaces, len(all))
		all = all[:maxNamespaces]
	}
	for _, namespace := range all {
		for i, k := range kinds {
			if w.wanted[namespace]&(1<<i) == 0 {
				continue
			}
			if err := w.list(ctx, k, namespace); err != nil {
				return err
			}
		}
	}
	if w.full {
		w.note("only the first %d objects are shown", maxNodes)
	}
	return nil
}

// list lists a namespace's objects of one kind, page by page.
func (w *walk) list(ctx context.Context, k kind, namespace string) error {
	more := ""
	for range maxPages {
		var page struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []rawObject `json:"items"`
		}
		there, err := w.get(ctx, k.path(namespace, more), k.resource+" of namespace "+namespace, &page)
		if err != nil || !there {
			return err
		}
		for _, item := range page.Items {
			w.adopt(k, item)
		}
		if more = page.Metadata.Continue; more == "" {
			return nil
		}
	}
	w.note("%s of namespace %s: only the first %d pages of %s were read", k.resource, namespace, maxPages, pageSize)
	return nil
}

// rawObject is an object that is decoded only if it has an owner in the tree.
type rawObject []byte

// UnmarshalJSON implements json.Unmarshaler.
func (r *rawObject) UnmarshalJSON(text []byte) error {
	*r = slices.Clone(text)
	return nil
}

// adopt adds an object below its owner, if that is in the tree.
func (w *walk) adopt(k kind, raw rawObject) {
	var head struct {
		Metadata struct {
			Namespace       string            `json:"namespace"`
			Name            string            `json:"name"`
			Labels          map[string]string `json:"labels"`
			OwnerReferences []ownerReference  `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &head) != nil {
		return
	}
	m := head.Metadata
	if w.byName[name{k.Group, k.Kind, m.Namespace, m.Name}] != nil {
		return // the object is itself a root
	}
	owner := w.owner(m.Namespace, m.OwnerReferences)
	if owner == nil && m.Labels[releaseName] != "" {
		owner = w.byName[name{helmRelease.Group, helmRelease.Kind, m.Labels[releaseNamespace], m.Labels[releaseName]}]
	}
	if owner == nil {
		return
	}
	if w.nodes++; w.nodes > maxNodes {
		w.full = true
		return
	}
	n, err := nodeOf(k, raw)
	if err != nil {
		w.note("%s %s/%s: %v", k.Kind, m.Namespace, m.Name, err)
		return
	}
	w.byUID[n.UID] = n
	owner.Children = append(owner.Children, n)
}

type ownerReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

// owner is the controlling owner if it is in the tree, otherwise any owner that is.
func (w *walk) owner(namespace string, references []ownerReference) *Node {
	var other *Node
	for _, r := range references {
		n := w.byUID[r.UID]
		if n == nil {
			gv, err := schema.ParseGroupVersion(r.APIVersion)
			if err != nil {
				continue
			}
			n = w.byName[name{gv.Group, r.Kind, namespace, r.Name}]
		}
		switch {
		case n == nil:
		case r.Controller:
			return n
		case other == nil:
			other = n
		}
	}
	return other
}

// nodeOf makes a node and judges its health.
func nodeOf(k kind, raw rawObject) (*Node, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &object.Object); err != nil {
		return nil, err
	}
	object.SetGroupVersionKind(k.GroupVersionKind) // items of a list have none
	n := &Node{Object: Object{
		Group: k.Group, Version: k.Version, Kind: k.Kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID()),
	}}
	if made := object.GetCreationTimestamp(); !made.IsZero() {
		n.Created = made.UnixMicro()
	}
	result := kubehealth.Of(object)
	if k.resource == "analysisruns" {
		result = analysis(object)
	}
	n.Health, n.Message = string(result.Status), short(result.Message)
	if k.resource == "replicasets" {
		want, found, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
		have, _, _ := unstructured.NestedInt64(object.Object, "status", "replicas")
		n.idle = found && want == 0 && have == 0
	}
	return n, nil
}
