package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ServiceDeployment is a service: it says what runs on one cluster, and from
// which source.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axsd
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ServiceDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ServiceDeploymentSpec   `json:"spec"`
	Status ServiceDeploymentStatus `json:"status,omitempty"`
}

// ServiceDeploymentSpec says what should run, and how.
//
// +kubebuilder:validation:XValidation:rule="(has(self.cluster) && size(self.cluster) > 0) != (has(self.clusterRef) && has(self.clusterRef.name) && size(self.clusterRef.name) > 0)",message="name the cluster by cluster or by clusterRef, one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.imports) || !has(oldSelf.imports) || self.imports == oldSelf.imports",message="imports cannot be changed"
type ServiceDeploymentSpec struct {
	ServiceTemplate `json:",inline"`

	// ClusterRef names a Cluster object.
	ClusterRef *ObjectReference `json:"clusterRef,omitempty"`
	// Cluster is the cluster's handle, instead of clusterRef.
	Cluster *string `json:"cluster,omitempty"`
	// ProjectRef is the Project of the service; unset is the cluster's.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Version is a label for people; it selects nothing.
	Version *string `json:"version,omitempty"`
	// Detach leaves the objects on the cluster when this object is deleted.
	Detach *bool `json:"detach,omitempty"`
	// Paused stops all changes on the cluster while it is set. Does not act yet.
	Paused *bool `json:"paused,omitempty"`
	// PinnedRevision keeps the service at one of its revisions, as after a
	// rollback. Does not act yet.
	// +kubebuilder:validation:Minimum=1
	PinnedRevision *int64 `json:"pinnedRevision,omitempty"`
	// DocsPath is a folder of documentation. Does not act yet.
	DocsPath *string `json:"docsPath,omitempty"`
	// Bindings of the service.
	Bindings *Bindings `json:"bindings,omitempty"`
	// FlowRef names a Flow. Does not act yet.
	FlowRef *ObjectReference `json:"flowRef,omitempty"`
	// AgentID is kept for compatibility. Does not act.
	AgentID *string `json:"agentId,omitempty"`
	// Reconciliation sets how often the operator compares the object with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// ServiceDeploymentStatus is the state of the service in the hub.
type ServiceDeploymentStatus struct {
	Status `json:",inline"`
	// Components are the service's objects on its cluster.
	Components []ServiceComponent `json:"components,omitempty"`
	// Errors of the service.
	Errors []ServiceError `json:"errors,omitempty"`
}

// ServiceComponent is one object of the service on its cluster.
type ServiceComponent struct {
	// ID of the component in the hub.
	ID string `json:"id,omitempty"`
	// Name of the object.
	Name string `json:"name,omitempty"`
	// Group of its kind.
	Group *string `json:"group,omitempty"`
	// Kind of the object.
	Kind string `json:"kind,omitempty"`
	// Namespace of the object.
	Namespace *string `json:"namespace,omitempty"`
	// Version of its kind.
	Version *string `json:"version,omitempty"`
	// State is RUNNING, PENDING, FAILED or PAUSED.
	State *string `json:"state,omitempty"`
	// Synced means that the object is as the service declares it.
	Synced bool `json:"synced,omitempty"`
}

// ServiceError is an error of the service.
type ServiceError struct {
	// Source of the error: the part of the service that it comes from.
	Source string `json:"source"`
	// Message of the error.
	Message string `json:"message"`
}
