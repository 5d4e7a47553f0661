package kubeobj

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref names one object of one cluster, independent of its version.
type Ref struct {
	// Group is empty for the core group.
	Group string
	Kind  string
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	Name      string
}

// Tracking is the value of the tracking annotation: group/kind/namespace/name, where
// empty parts stay empty.
func (r Ref) Tracking() string {
	return r.Group + "/" + r.Kind + "/" + r.Namespace + "/" + r.Name
}

// ClusterSecret is the type of Cluster API's Secrets: a kubeconfig or a key that makes its
// holder an administrator of a cluster, or the data with which a machine joins one.
const ClusterSecret = "cluster.x-k8s.io/secret"

// OthersSelector selects, as a field selector, Secrets that are not of Cluster API.
const OthersSelector = "type!=" + ClusterSecret

// IsSecret reports whether it is a Secret.
func (r Ref) IsSecret() bool { return r.Group == "" && r.Kind == "Secret" }

// Compare orders refs by group, kind, namespace and name.
func (r Ref) Compare(o Ref) int {
	if c := strings.Compare(r.Group, o.Group); c != 0 {
		return c
	}
	if c := strings.Compare(r.Kind, o.Kind); c != 0 {
		return c
	}
	if c := strings.Compare(r.Namespace, o.Namespace); c != 0 {
		return c
	}
	return strings.Compare(r.Name, o.Name)
}

// String is the form for people: "Deployment.apps default/web".
func (r Ref) String() string {
	text := r.Kind
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Namespace != "" {
		return text + " " + r.Namespace + "/" + r.Name
	}
	return text + " " + r.Name
}

// ParseTracking is the reverse of Ref.Tracking.
func ParseTracking(text string) (Ref, error) {
	part := strings.Split(text, "/")
	if len(part) != 4 || part[1] == "" || part[3] == "" {
		return Ref{}, fmt.Errorf("tracking id %q is not group/kind/namespace/name", text)
	}
	return Ref{Group: part[0], Kind: part[1], Namespace: part[2], Name: part[3]}, nil
}

// Kind is a served kind, with what is needed to watch it or to write one of its
// objects without another request.
type Kind struct {
	Group    string
	Version  string
	Kind     string
	Resource string
	// Namespaced is false for cluster-scoped kinds.
	Namespaced bool
}

// GroupKind names the kind without its version.
func (k Kind) GroupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

// GVR is the kind's place in the API.
func (k Kind) GVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Resource}
}

// APIVersion is the apiVersion in the kind's manifests.
func (k Kind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// String is "Deployment.apps/v1".
func (k Kind) String() string {
	if k.Group == "" {
		return k.Kind + "/" + k.Version
	}
	return k.Kind + "." + k.Group + "/" + k.Version
}
