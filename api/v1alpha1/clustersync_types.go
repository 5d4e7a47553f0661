package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterSync creates a Cluster object for every selected cluster of the hub that
// needs no approval, and deletes it when the cluster is gone or not selected any more.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axcs
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterSync struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterSyncSpec `json:"spec"`
	Status Status          `json:"status,omitempty"`
}

// ClusterSyncSpec says which clusters are selected, and how their objects
// look.
type ClusterSyncSpec struct {
	// ProjectRef limits the selection to clusters of this Project.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Tags that a cluster must all have.
	Tags map[string]string `json:"tags,omitempty"`
	// ClusterSpec is the template of the objects: Liquid with the variable
	// cluster, which has id, handle, name, project, tags, metadata, distro and version.
	ClusterSpec ClusterTemplate `json:"clusterSpec"`
	// Reconciliation sets how often the clusters of the hub are listed.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// ClusterTemplate is the template of a Cluster object.
type ClusterTemplate struct {
	// Metadata of the object.
	Metadata TemplateReference `json:"metadata"`
	// Spec of the object; every value is a template.
	Spec *ClusterTemplateSpec `json:"spec,omitempty"`
}

// TemplateReference is the template of a name and a namespace.
type TemplateReference struct {
	// Name of the object.
	Name string `json:"name"`
	// Namespace of the object; unset is the ClusterSync's own. Another one is only for
	// admin namespaces.
	Namespace *string `json:"namespace,omitempty"`
}

// ClusterTemplateSpec is the template of a Cluster's spec. Fields that are not
// strings in a Cluster are JSON in a string here.
type ClusterTemplateSpec struct {
	// Handle of the cluster; unset is the handle in the hub.
	Handle *string `json:"handle,omitempty"`
	// Version is deprecated. Does not act.
	Version *string `json:"version,omitempty"`
	// ProviderRef is deprecated. Does not act.
	ProviderRef *TemplateReference `json:"providerRef,omitempty"`
	// ProjectRef names the Project of the cluster.
	ProjectRef *TemplateReference `json:"projectRef,omitempty"`
	// Cloud is deprecated. Does not act.
	Cloud *string `json:"cloud,omitempty"`
	// Protect is true or false.
	Protect *string `json:"protect,omitempty"`
	// Tags is a JSON object.
	Tags *string `json:"tags,omitempty"`
	// Metadata is a JSON object.
	Metadata *string `json:"metadata,omitempty"`
	// Bindings of the cluster.
	Bindings *BindingsTemplate `json:"bindings,omitempty"`
	// NodePools is deprecated. Does not act.
	NodePools *string `json:"nodePools,omitempty"`
}

// BindingsTemplate holds templates of lists of bindings.
type BindingsTemplate struct {
	// Read is a JSON list.
	Read *string `json:"read,omitempty"`
	// Write is a JSON list.
	Write *string `json:"write,omitempty"`
}

// BootstrapToken creates a token with which clusters register themselves in
// one project, and writes it to a Secret.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axbt
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.projectRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BootstrapToken struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BootstrapTokenSpec `json:"spec"`
	Status Status             `json:"status,omitempty"`
}

// BootstrapTokenSpec says which project the clusters belong to, and where the
// token is written. Only reconciliation can be changed.
type BootstrapTokenSpec struct {
	// ProjectRef is the Project of the clusters.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="projectRef cannot be changed: create another token"
	ProjectRef ObjectReference `json:"projectRef"`
	// TokenSecretRef is the Secret that is created, with the key token. The Secret
	// must not exist beforehand.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="tokenSecretRef cannot be changed: create another token"
	TokenSecretRef SecretReference `json:"tokenSecretRef"`
	// User is the e-mail that the audit log names for registrations. Does not act
	// yet.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="user cannot be changed: create another token"
	User *string `json:"user,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// Provider names the cluster template that Clusters with a providerRef are made from,
// by its own name. It is nothing in the hub itself.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle;axle-all,shortName=axprov
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Cloud",type=string,JSONPath=`.spec.cloud`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Provider struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProviderSpec `json:"spec"`
	Status Status       `json:"status,omitempty"`
}

// ProviderSpec says which cloud, and where its credentials are.
type ProviderSpec struct {
	// Cloud of the account. It cannot be changed.
	// +kubebuilder:validation:Enum=gcp;aws;azure
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cloud cannot be changed"
	Cloud string `json:"cloud"`
	// CloudSettings name the credentials, for people: those that are used are the
	// template's, and the operator reads none. Does not act.
	CloudSettings *ProviderCloudSettings `json:"cloudSettings,omitempty"`
	// Name of the cluster template in the hub; unset is metadata.name. It cannot be
	// changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="name cannot be changed"
	Name string `json:"name,omitempty"`
	// Namespace of the credentials on the management cluster, for people. It cannot be
	// changed. Does not act.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="namespace cannot be changed"
	Namespace string `json:"namespace,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// ProviderCloudSettings name the credentials of one cloud.
//
// +structType=atomic
type ProviderCloudSettings struct {
	// AWS is a Secret with the keys for AWS.
	AWS *SecretReference `json:"aws,omitempty"`
	// Azure is a Secret with a service principal of Azure.
	Azure *SecretReference `json:"azure,omitempty"`
	// GCP is a Secret with a service account of Google Cloud.
	GCP *SecretReference `json:"gcp,omitempty"`
}
