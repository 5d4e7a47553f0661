package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GitRepository registers a Git upstream with the hub under the object's name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle;axle-all,shortName=axgit
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.health`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GitRepository struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GitRepositorySpec `json:"spec"`
	Status RepositoryStatus  `json:"status,omitempty"`
}

// GitRepositorySpec says where the upstream is and how to authenticate.
type GitRepositorySpec struct {
	// URL of the upstream, https or ssh. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="url cannot be changed: create another repository"
	URL string `json:"url"`
	// ConnectionRef is an ScmConnection whose credentials are used, unless
	// credentialsRef is set. The url must be on its server.
	ConnectionRef *ObjectReference `json:"connectionRef,omitempty"`
	// CredentialsRef is a Secret with those of the keys username, password,
	// privateKey, passphrase and knownHosts that are needed. A password alone is a
	// token. github.com, gitlab.com, bitbucket.org and Azure DevOps need no knownHosts.
	CredentialsRef *SecretReference `json:"credentialsRef,omitempty"`
	// Reconciliation sets how often the operator compares the object with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// RepositoryStatus is the state of the upstream in the hub.
type RepositoryStatus struct {
	Status `json:",inline"`
	// Health is PULLABLE or FAILED.
	Health string `json:"health,omitempty"`
	// Message is upstream's error when Health is FAILED.
	Message *string `json:"message,omitempty"`
}

// HelmRepository registers a chart repository with the hub, over https or oci,
// under the object's name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axhelm
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.health`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type HelmRepository struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   HelmRepositorySpec `json:"spec"`
	Status RepositoryStatus   `json:"status,omitempty"`
}

// HelmRepositorySpec says where the charts are and how to log in.
type HelmRepositorySpec struct {
	// URL of the repository, https or oci. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="url cannot be changed: create another repository"
	URL string `json:"url"`
	// Provider selects the field of auth that is used.
	// +kubebuilder:validation:Enum=BASIC;BEARER;GCP;AZURE;AWS
	Provider *string `json:"provider,omitempty"`
	// Auth says how to log in.
	Auth *HelmRepositoryAuth `json:"auth,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// HelmRepositoryAuth says how to log in to a chart repository or registry;
// provider selects the field. Each secret can be given in two ways: as one key
// of a Secret in the same namespace, or, deprecated, as a whole Secret.
type HelmRepositoryAuth struct {
	// Proxy is the HTTP proxy for connections to the repository.
	Proxy *HTTPProxy `json:"proxy,omitempty"`
	// Basic is user and password.
	Basic *HelmRepositoryAuthBasic `json:"basic,omitempty"`
	// Bearer is a token.
	Bearer *HelmRepositoryAuthBearer `json:"bearer,omitempty"`
	// AWS is a registry of AWS.
	AWS *HelmRepositoryAuthAWS `json:"aws,omitempty"`
	// Azure is a registry of Azure.
	Azure *HelmRepositoryAuthAzure `json:"azure,omitempty"`
	// GCP is a registry of Google Cloud.
	GCP *HelmRepositoryAuthGCP `json:"gcp,omitempty"`
}

// HelmRepositoryAuthBasic is user and password.
type HelmRepositoryAuthBasic struct {
	// Username to log in with.
	Username string `json:"username"`
	// PasswordSecretRef is a Secret that holds only the password.
	PasswordSecretRef *SecretReference `json:"passwordSecretRef,omitempty"`
	// PasswordSecretKeyRef is a Secret's key that holds the password.
	PasswordSecretKeyRef *KeySelector `json:"passwordSecretKeyRef,omitempty"`
}

// HelmRepositoryAuthBearer is a token.
type HelmRepositoryAuthBearer struct {
	// TokenSecretRef is a Secret that holds only the token.
	TokenSecretRef *SecretReference `json:"tokenSecretRef,omitempty"`
	// TokenSecretKeyRef is a Secret's key that holds the token.
	TokenSecretKeyRef *KeySelector `json:"tokenSecretKeyRef,omitempty"`
}

// HelmRepositoryAuthAWS is a registry of AWS; without keys the hub's own role
// is used.
type HelmRepositoryAuthAWS struct {
	// AccessKey is the ID of an access key.
	AccessKey *string `json:"accessKey,omitempty"`
	// SecretAccessKeySecretRef is a Secret that holds only the secret access key.
	SecretAccessKeySecretRef *SecretReference `json:"secretAccessKeySecretRef,omitempty"`
	// SecretAccessKeySecretKeyRef is a Secret's key that holds it.
	SecretAccessKeySecretKeyRef *KeySelector `json:"secretAccessKeySecretKeyRef,omitempty"`
	// AssumeRoleArn is a role to assume with these keys.
	AssumeRoleArn *string `json:"assumeRoleArn,omitempty"`
}

// HelmRepositoryAuthAzure is a registry of Azure; without a client the hub's
// workload identity is used.
type HelmRepositoryAuthAzure struct {
	// ClientID of the application.
	ClientID *string `json:"clientId,omitempty"`
	// ClientSecretSecretRef is a Secret that holds only its secret.
	ClientSecretSecretRef *SecretReference `json:"clientSecretSecretRef,omitempty"`
	// ClientSecretSecretKeyRef is a Secret's key that holds it.
	ClientSecretSecretKeyRef *KeySelector `json:"clientSecretSecretKeyRef,omitempty"`
	// TenantID of the application.
	TenantID *string `json:"tenantId,omitempty"`
	// SubscriptionID of the registry. Does not act yet.
	SubscriptionID *string `json:"subscriptionId,omitempty"`
}

// HelmRepositoryAuthGCP is a registry of Google Cloud; without credentials the
// hub's own account is used.
type HelmRepositoryAuthGCP struct {
	// ApplicationCredentialsSecretRef is a Secret that holds only a service account's JSON.
	ApplicationCredentialsSecretRef *SecretReference `json:"applicationCredentialsSecretRef,omitempty"`
	// ApplicationCredentialsSecretKeyRef is a Secret's key that holds it.
	ApplicationCredentialsSecretKeyRef *KeySelector `json:"applicationCredentialsSecretKeyRef,omitempty"`
}
