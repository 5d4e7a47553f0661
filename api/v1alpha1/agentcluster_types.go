package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// PluralCAPICluster connects a cluster of Cluster API that others made to the
// hub: the agent of its management cluster installs an agent in it. Whoever
// writes the object may read the Secrets that it names.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axcapi
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.capiClusterRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PluralCAPICluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PluralCAPIClusterSpec `json:"spec"`
	Status Status                `json:"status,omitempty"`
}

// PluralCAPIClusterSpec names the cluster, and says how it is registered.
type PluralCAPIClusterSpec struct {
	ChildClusterSpec `json:",inline"`
	// CAPIClusterRef is the Cluster of Cluster API, in the namespace of the object.
	CAPIClusterRef ObjectReference `json:"capiClusterRef"`
}

// ChildClusterSpec says how a cluster that an agent created is registered.
type ChildClusterSpec struct {
	// Cluster describes the cluster in the hub.
	Cluster *ChildCluster `json:"cluster,omitempty"`
	// ConsoleTokenSecretRef is a Secret's key that holds a bootstrap token of the
	// hub, whose list must have the name, the handle and the tags.
	ConsoleTokenSecretRef KeySelector `json:"consoleTokenSecretRef"`
	// Agent is the chart of its agent. It does not act: the hub sends the agent's
	// objects, and an object with it connects nothing.
	Agent *ChartConfiguration `json:"agent,omitempty"`
}

// ChildCluster describes a cluster in the hub.
type ChildCluster struct {
	// Handle is the cluster's short unique name; unset is metadata.name.
	Handle *string `json:"handle,omitempty"`
	// Tags of the cluster.
	Tags map[string]string `json:"tags,omitempty"`
	// Metadata is any JSON object. It does not act: a bootstrap token allows none,
	// and an object with it connects nothing.
	// +kubebuilder:pruning:PreserveUnknownFields
	Metadata *runtime.RawExtension `json:"metadata,omitempty"`
	// Bindings of the cluster. This field does not act: a bootstrap token allows
	// none, and an object with it connects nothing.
	Bindings *Bindings `json:"bindings,omitempty"`
}

// ChartConfiguration is a chart and one source of values.
type ChartConfiguration struct {
	// ChartName is the name of the chart.
	ChartName *string `json:"chartName,omitempty"`
	// RepoURL is the URL of the chart repository.
	RepoURL *string `json:"repoUrl,omitempty"`
	// Values of the chart, any JSON object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
	// ValuesSecretRef is a Secret's key that holds values.
	ValuesSecretRef *KeySelector `json:"valuesSecretRef,omitempty"`
	// ValuesConfigMapRef is a ConfigMap's key that holds values.
	ValuesConfigMapRef *KeySelector `json:"valuesConfigMapRef,omitempty"`
}
