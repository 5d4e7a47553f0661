package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// GlobalService runs one service on every cluster that it selects. All
// selectors that are set must match. Without a selector, it selects every
// cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axgs
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Distro",type=string,JSONPath=`.spec.distro`
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.clusters`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GlobalService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GlobalServiceSpec   `json:"spec"`
	Status GlobalServiceStatus `json:"status,omitempty"`
}

// GlobalServiceSpec says what runs, and on which clusters.
//
// +kubebuilder:validation:XValidation:rule="has(self.serviceRef) != has(self.template)",message="set serviceRef or template, one of the two"
type GlobalServiceSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Tags that a cluster must all have.
	Tags map[string]string `json:"tags,omitempty"`
	// Distro that a cluster must have.
	// +kubebuilder:validation:Enum=GENERIC;EKS;AKS;GKE;RKE;K3S;OPENSHIFT
	Distro *string `json:"distro,omitempty"`
	// ProjectRef limits the selection to clusters of this Project.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Mgmt set to false excludes the hub's own cluster.
	Mgmt *bool `json:"mgmt,omitempty"`
	// IgnoreClusters are handles of excluded clusters.
	IgnoreClusters []string `json:"ignoreClusters,omitempty"`
	// ProviderRef is deprecated and does not act.
	ProviderRef *ObjectReference `json:"providerRef,omitempty"`
	// ServiceRef is a ServiceDeployment whose spec every selected cluster gets, except
	// for its own cluster. Changes of it follow.
	ServiceRef *ObjectReference `json:"serviceRef,omitempty"`
	// Template is the service. Helm's version and chart, valuesFiles, Lua scripts,
	// contexts, refs and folders may contain Liquid with the variables context and
	// cluster.
	Template *ServiceTemplate `json:"template,omitempty"`
	// Context is the value of context in the template's Liquid.
	Context *TemplateContext `json:"context,omitempty"`
	// Reparent takes over services with the same name that others created.
	Reparent *bool `json:"reparent,omitempty"`
	// Cascade says what happens to the services of a cluster that is no longer
	// selected, and to all services when this object is deleted.
	Cascade *Cascade `json:"cascade,omitempty"`
	// Rollout brings changes of the template to the clusters in waves; unset is all
	// clusters at once. Axle's own field.
	Rollout *GlobalRollout `json:"rollout,omitempty"`
	// Interval between two full comparisons, a Go duration. It does not act: changes
	// are applied when they happen.
	// +kubebuilder:default="10m"
	Interval *string `json:"interval,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// GlobalRollout says how a changed template reaches the clusters. A wave begins
// when the clusters of the waves before were healthy for the soak time.
type GlobalRollout struct {
	// Waves, each a number of clusters or a percentage such as 10%, cumulative.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:Pattern=`^[0-9]+%?$`
	Waves []string `json:"waves"`
	// MaxUnavailable is how many clusters may have the change and not be healthy
	// yet, a number or a percentage; unset is the whole wave.
	// +kubebuilder:validation:Pattern=`^[0-9]+%?$`
	MaxUnavailable *string `json:"maxUnavailable,omitempty"`
	// Soak is how long a wave must be healthy before the next one begins, a Go
	// duration; unset is 15m.
	Soak *string `json:"soak,omitempty"`
	// FailAfter is how long a cluster may take to become healthy, a Go duration;
	// unset is 10m.
	FailAfter *string `json:"failAfter,omitempty"`
	// MaxFailed is the percentage of a wave's clusters that may fail before the
	// rollout stops; unset is 5%.
	// +kubebuilder:validation:Pattern=`^[0-9]+%$`
	MaxFailed *string `json:"maxFailed,omitempty"`
}

// TemplateContext holds values for the Liquid of a template.
type TemplateContext struct {
	// Raw is any JSON object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Raw *runtime.RawExtension `json:"raw,omitempty"`
}

// Cascade says what happens to services that are no longer wanted. If neither
// field is set, they continue to run without an owner.
type Cascade struct {
	// Delete deletes them from the hub and their objects from the clusters.
	Delete *bool `json:"delete,omitempty"`
	// Detach deletes them from the hub and leaves their objects on the clusters.
	Detach *bool `json:"detach,omitempty"`
}

// GlobalServiceStatus is the state of the services in the hub.
type GlobalServiceStatus struct {
	Status `json:",inline"`
	// Clusters is the number of selected clusters.
	Clusters int32 `json:"clusters,omitempty"`
	// ReadyClusters is the number of clusters on which the service is synced and
	// healthy.
	ReadyClusters int32 `json:"readyClusters,omitempty"`
	// Rollout is the progress of the last change of the template.
	Rollout *RolloutStatus `json:"rollout,omitempty"`
}

// RolloutStatus is the progress of a change through the clusters.
type RolloutStatus struct {
	// Phase is Progressing, Paused, Stopped, Aborting, Aborted, Done or
	// Superseded.
	Phase string `json:"phase,omitempty"`
	// Wave is the number of the current wave, from 1.
	Wave int32 `json:"wave,omitempty"`
	// Waves is the number of waves.
	Waves int32 `json:"waves,omitempty"`
	// Message says why the rollout stopped, or what it waits for.
	Message string `json:"message,omitempty"`
}

// ManagedNamespace keeps a namespace on every cluster that it selects, and
// optionally a service in it, NAME-core.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axmns
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.clusters`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ManagedNamespace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ManagedNamespaceSpec   `json:"spec"`
	Status ManagedNamespaceStatus `json:"status,omitempty"`
}

// ManagedNamespaceSpec describes the namespace and selects its clusters.
type ManagedNamespaceSpec struct {
	// Name of the namespace, up to 58 characters; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// Labels of the namespace. Others that it has stay.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the namespace. Others that it has stay.
	Annotations map[string]string `json:"annotations,omitempty"`
	// PullSecrets are the names of image pull secrets in the namespace, for its
	// default service account. Something else creates these Secrets.
	PullSecrets []string `json:"pullSecrets,omitempty"`
	// Service runs in the namespace, as NAME-core. It has no name of its own.
	Service *ServiceTemplate `json:"service,omitempty"`
	// Target selects the clusters; unset means all.
	Target *ClusterTarget `json:"target,omitempty"`
	// ProjectRef limits the selection to clusters of this Project.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Cascade says what happens to the namespace of a cluster that is no longer
	// selected, and to all when this object is deleted: with delete, it goes with
	// everything in it. Otherwise it stays, with the objects of the service.
	Cascade *Cascade `json:"cascade,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// ClusterTarget selects clusters; all fields that are set must match.
type ClusterTarget struct {
	// Tags that a cluster must all have.
	Tags map[string]string `json:"tags,omitempty"`
	// Distro that a cluster must have.
	// +kubebuilder:validation:Enum=GENERIC;EKS;AKS;GKE;RKE;K3S;OPENSHIFT
	Distro *string `json:"distro,omitempty"`
}

// ManagedNamespaceStatus is the state of the namespace on its clusters.
type ManagedNamespaceStatus struct {
	Status `json:",inline"`
	// Clusters is the number of selected clusters.
	Clusters int32 `json:"clusters,omitempty"`
	// ReadyClusters is the number of clusters on which the namespace is ready, or the
	// service if those are less.
	ReadyClusters int32 `json:"readyClusters,omitempty"`
}
