package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/axle-cd/axle/api/v1alpha1"
)

// ClusterRegistration creates a cluster in the hub before its agent exists. The
// cluster is made from a template, or, without templateRef, by somebody else: then
// a bootstrap token for it is written to a Secret. Deleting the object deletes the
// cluster from the hub; it never removes machines.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axreg
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.project`
// +kubebuilder:printcolumn:name="Template",type=string,JSONPath=`.spec.templateRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.clusterAPI.phase`
// +kubebuilder:printcolumn:name="Registered",type=boolean,JSONPath=`.status.registered`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterRegistration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterRegistrationSpec   `json:"spec"`
	Status ClusterRegistrationStatus `json:"status,omitempty"`
}

// ClusterRegistrationSpec describes the cluster.
//
// +kubebuilder:validation:XValidation:rule="has(self.templateRef) != has(self.tokenSecretRef)",message="set tokenSecretRef, or templateRef: a cluster from a template connects without a token"
// +kubebuilder:validation:XValidation:rule="has(self.templateRef) || !has(self.variables) && !has(self.managementCluster)",message="variables and managementCluster are for a cluster from a template: set templateRef"
// +kubebuilder:validation:XValidation:rule="has(self.templateRef) == has(oldSelf.templateRef)",message="templateRef cannot be changed: create another registration"
// +kubebuilder:validation:XValidation:rule="has(self.managementCluster) == has(oldSelf.managementCluster)",message="managementCluster cannot be changed: create another registration"
type ClusterRegistrationSpec struct {
	// Name in the hub; unset is metadata.name. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="name cannot be changed: create another registration"
	Name *string `json:"name,omitempty"`
	// Handle is the cluster's short unique name; unset is its name.
	Handle *string `json:"handle,omitempty"`
	// Project is the name of the project; unset is default. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="project cannot be changed: create another registration"
	Project *string `json:"project,omitempty"`
	// Tags of the cluster.
	Tags map[string]string `json:"tags,omitempty"`
	// Metadata is any JSON object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Metadata *runtime.RawExtension `json:"metadata,omitempty"`
	// TemplateRef is the ClusterTemplate of the hub that the cluster is made from. The
	// template must be for the project. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="templateRef cannot be changed: create another registration"
	TemplateRef *ClusterTemplateReference `json:"templateRef,omitempty"`
	// Variables are those of the template, as its schema says. A change of them changes
	// the cluster.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Variables *runtime.RawExtension `json:"variables,omitempty"`
	// ManagementCluster is the name of one of the template's, which makes the cluster;
	// it may be unset if the template has only one. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="managementCluster cannot be changed: create another registration"
	ManagementCluster *string `json:"managementCluster,omitempty"`
	// TokenSecretRef is the Secret that is created, with the keys token, hubURL
	// and ca.pem. Until the agent has registered, the Secret is written again if
	// it is deleted or the token expires.
	TokenSecretRef *v1alpha1.LocalReference `json:"tokenSecretRef,omitempty"`
	// Detach leaves the objects of services on the cluster, and the machines of a
	// cluster from a template, when this object is deleted. Without it, services must be
	// deleted first, and a cluster from a template be destroyed with axle clusters destroy.
	Detach *bool `json:"detach,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *v1alpha1.Reconciliation `json:"reconciliation,omitempty"`
}

// ClusterTemplateReference is a ClusterTemplate of the hub.
type ClusterTemplateReference struct {
	// Name of the template in the hub.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// ClusterRegistrationStatus says whether the agent has registered.
type ClusterRegistrationStatus struct {
	v1alpha1.Status `json:",inline"`
	// Registered is true once the agent has registered.
	Registered bool `json:"registered,omitempty"`
	// TokenExpiresAt is when the token expires.
	TokenExpiresAt *metav1.Time `json:"tokenExpiresAt,omitempty"`
	// ClusterAPI is the state of a cluster from a template.
	ClusterAPI *v1alpha1.ClusterAPIStatus `json:"clusterAPI,omitempty"`
}

// RegistrationToken creates a token with which clusters register themselves,
// and writes it to a Secret. BootstrapToken is a simpler kind for the same
// purpose; this one also limits names, tags, uses and lifetime.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axrt
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.project`
// +kubebuilder:printcolumn:name="UsesLeft",type=integer,JSONPath=`.status.usesLeft`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RegistrationToken struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RegistrationTokenSpec   `json:"spec"`
	Status RegistrationTokenStatus `json:"status,omitempty"`
}

// RegistrationTokenSpec limits what can be registered with the token. None of
// its fields can be changed.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a token cannot be changed: create another one"
type RegistrationTokenSpec struct {
	// Project is the name of the clusters' project; unset is default.
	// +kubebuilder:validation:MaxLength=253
	Project *string `json:"project,omitempty"`
	// NamePattern is a glob that the clusters' names must match; unset means any.
	// +kubebuilder:validation:MaxLength=253
	NamePattern *string `json:"namePattern,omitempty"`
	// AllowedTags that the clusters may have; the value "*" allows any.
	// +kubebuilder:validation:MaxProperties=64
	AllowedTags map[string]string `json:"allowedTags,omitempty"`
	// MaxUses of the token; unset is 1. With more than 1, each cluster waits for
	// approval unless approved is set.
	// +kubebuilder:validation:Minimum=1
	MaxUses *int32 `json:"maxUses,omitempty"`
	// Approved registers clusters without approval by a person.
	Approved *bool `json:"approved,omitempty"`
	// Lifetime of the token, a Go duration; unset is 24h.
	// +kubebuilder:validation:MaxLength=32
	Lifetime *string `json:"lifetime,omitempty"`
	// TokenSecretRef is the Secret that is created, with the key token. The Secret
	// must not exist beforehand.
	TokenSecretRef v1alpha1.LocalReference `json:"tokenSecretRef"`
}

// RegistrationTokenStatus is the state of the token.
type RegistrationTokenStatus struct {
	v1alpha1.Status `json:",inline"`
	// UsesLeft is the number of remaining uses.
	UsesLeft int32 `json:"usesLeft,omitempty"`
	// ExpiresAt is when the token expires.
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
}

// ProjectLimits limits what the services of a project may change, and when.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axlim
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.project`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ProjectLimits struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProjectLimitsSpec `json:"spec"`
	Status v1alpha1.Status   `json:"status,omitempty"`
}

// ProjectLimitsSpec are the limits.
type ProjectLimitsSpec struct {
	// Project is the name of the project. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="project cannot be changed: create other limits"
	// +kubebuilder:validation:MinLength=1
	Project string `json:"project"`
	// Namespaces that services may use, with the wildcards * and ?; unset means
	// all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Kinds that services may apply, as Kind or Kind.group, with the wildcards *
	// and ?; unset means all.
	Kinds []string `json:"kinds,omitempty"`
	// ClusterScoped lets services apply cluster-scoped objects.
	ClusterScoped *bool `json:"clusterScoped,omitempty"`
	// ServiceAccount of services that name none: NAME in the service's namespace,
	// or NAMESPACE/NAME.
	ServiceAccount *string `json:"serviceAccount,omitempty"`
	// Accounts that services may act as, as NAMESPACE/NAME with the wildcards *
	// and ?, beside all those in namespaces.
	Accounts []string `json:"accounts,omitempty"`
	// SyncWindows apply in addition to those of the hub and of the service.
	SyncWindows []v1alpha1.SyncWindow `json:"syncWindows,omitempty"`
	// Clusters is how many clusters the project may have; unset means no limit.
	// +kubebuilder:validation:Minimum=1
	Clusters *int32 `json:"clusters,omitempty"`
	// Machines is how many machines its clusters from templates may have together,
	// those of pools with bounds at their most; unset means no limit.
	// +kubebuilder:validation:Minimum=1
	Machines *int32 `json:"machines,omitempty"`
	// Services is how many services it may have, without those that global services
	// of the whole hub place; unset means no limit.
	// +kubebuilder:validation:Minimum=1
	Services *int32 `json:"services,omitempty"`
	// Previews is how many previews of its services may be open at once; unset means
	// no limit.
	// +kubebuilder:validation:Minimum=1
	Previews *int32 `json:"previews,omitempty"`
	// Domains that the project owns: the URIs of its applications lie below them.
	// Unset means none.
	Domains []string `json:"domains,omitempty"`
	// Applications is how many applications it may have; unset means no limit.
	// +kubebuilder:validation:Minimum=1
	Applications *int32 `json:"applications,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *v1alpha1.Reconciliation `json:"reconciliation,omitempty"`
}

// HubSettings are settings of the whole hub that are specific to Axle. The
// object must be named default.
//
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'default'",message="the settings of the hub are the object named default"
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axhub
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type HubSettings struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   HubSettingsSpec `json:"spec"`
	Status v1alpha1.Status `json:"status,omitempty"`
}

// HubSettingsSpec are the settings.
type HubSettingsSpec struct {
	// SyncWindows apply to every service.
	SyncWindows []v1alpha1.SyncWindow `json:"syncWindows,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *v1alpha1.Reconciliation `json:"reconciliation,omitempty"`
}

// Outputs are values that services can import.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axout
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.project`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Outputs struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   OutputsSpec     `json:"spec"`
	Status v1alpha1.Status `json:"status,omitempty"`
}

// OutputsSpec holds the values.
type OutputsSpec struct {
	// Name that services import by; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Project is the name of the project. Without it, the outputs are available
	// to all projects.
	Project *string `json:"project,omitempty"`
	// Values is any JSON object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *runtime.RawExtension `json:"values,omitempty"`
	// SecretRef is a Secret whose keys are secret values.
	SecretRef *v1alpha1.LocalReference `json:"secretRef,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *v1alpha1.Reconciliation `json:"reconciliation,omitempty"`
}
