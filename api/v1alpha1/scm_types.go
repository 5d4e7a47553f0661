package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ScmConnection is an account at a Git server. Repositories use its
// credentials, and it receives the server's webhooks.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle;axle-all,shortName=axscm
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ScmConnection struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ScmConnectionSpec `json:"spec"`
	Status Status            `json:"status,omitempty"`
}

// ScmConnectionSpec says which server, and how to log in.
//
// +kubebuilder:validation:XValidation:rule="self.type == oldSelf.type && has(self.baseUrl) == has(oldSelf.baseUrl) && has(self.apiUrl) == has(oldSelf.apiUrl)",message="the server cannot be changed, because a secret does not follow a changed address: create another connection"
type ScmConnectionSpec struct {
	// Name in the hub.
	Name string `json:"name"`
	// Type of the server.
	// +kubebuilder:validation:Enum=GITHUB;GITLAB;BITBUCKET;BITBUCKET_DATACENTER;AZURE_DEVOPS
	Type string `json:"type"`
	// TokenSecretRef is a Secret with the key token. Its namespace is required; it
	// is that of github.privateKeyRef as well.
	TokenSecretRef *SecretReference `json:"tokenSecretRef,omitempty"`
	// Username of the account.
	Username *string `json:"username,omitempty"`
	// BaseURL for clones, for self-hosted servers. The account is sent to
	// repositories below it only; unset is the public server of the type.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the server cannot be changed: create another connection"
	BaseURL *string `json:"baseUrl,omitempty"`
	// APIURL of the server's API, for self-hosted servers.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the server cannot be changed: create another connection"
	APIURL *string `json:"apiUrl,omitempty"`
	// GitHub is a GitHub App, instead of a token.
	GitHub *ScmGitHub `json:"github,omitempty"`
	// Azure is Azure DevOps.
	Azure *ScmAzure `json:"azure,omitempty"`
	// BitbucketDatacenter is Bitbucket Data Center. Does not act yet.
	BitbucketDatacenter *ScmBitbucket `json:"bitbucketDatacenter,omitempty"`
	// Proxy is the HTTP proxy for connections to the server.
	Proxy *HTTPProxy `json:"proxy,omitempty"`
	// Default uses it for repositories of the server that name none. Does not act yet.
	Default *bool `json:"default,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// ScmGitHub is a GitHub App.
type ScmGitHub struct {
	// AppID of the app.
	AppID *string `json:"appId,omitempty"`
	// InstallationID of the app in an organisation.
	InstallationID *string `json:"installationId,omitempty"`
	// PrivateKeyRef is a key of a Secret that holds the app's private key. The
	// Secret is in the namespace of tokenSecretRef.
	PrivateKeyRef *KeySelector `json:"privateKeyRef,omitempty"`
}

// ScmAzure is Azure DevOps.
type ScmAzure struct {
	// Username of the token's owner.
	Username string `json:"username,omitempty"`
	// Organization at Azure DevOps. Does not act yet.
	Organization string `json:"organization,omitempty"`
	// Project of the organization. Does not act yet.
	Project string `json:"project,omitempty"`
}

// ScmBitbucket is Bitbucket Data Center.
type ScmBitbucket struct {
	// UserSlug of the account.
	UserSlug string `json:"userSlug,omitempty"`
}

// URLConfiguration is a URL to call.
type URLConfiguration struct {
	// URL to call.
	URL string `json:"url"`
}
