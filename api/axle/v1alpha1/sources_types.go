package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/api/v1alpha1"
)

// Repository registers an upstream of any type with the hub, with all options.
// GitRepository and HelmRepository are simpler kinds for the same purpose.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axrepo
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.health`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Repository struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RepositorySpec            `json:"spec"`
	Status v1alpha1.RepositoryStatus `json:"status,omitempty"`
}

// RepositorySpec says where the upstream is, and how to log in.
//
// +kubebuilder:validation:XValidation:rule="has(self.sourceRef) || has(self.url)",message="set url, or sourceRef"
type RepositorySpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Project is the name of the project; unset is default. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="project cannot be changed: create another repository"
	Project *string `json:"project,omitempty"`
	// SourceRef names a source of Flux in the same namespace. It wins: type, URL,
	// credentials and the rest are those of the source, except for name, project and
	// maxBytes.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="sourceRef cannot be changed: create another repository"
	SourceRef *LocalFluxSource `json:"sourceRef,omitempty"`
	// Type of the upstream; unset is git. It cannot be changed.
	// +kubebuilder:validation:Enum=git;helm;oci;bucket
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="type cannot be changed: create another repository"
	Type string `json:"type,omitempty"`
	// URL of the upstream. After a change the repository starts over; services
	// keep their content until its first fetch.
	URL string `json:"url,omitempty"`
	// Auth is the authentication method; unset is derived from the credentials.
	// +kubebuilder:validation:Enum=none;basic;token;ssh;app;bearer;aws;gcp;azure
	Auth *string `json:"auth,omitempty"`
	// CredentialsRef is a Secret with those of these keys that auth needs:
	// username, password, privateKey, passphrase, knownHosts, caPem,
	// clientCertificate, clientKey, proxyUsername, proxyPassword, appId,
	// installationId, accessKeyId, secretAccessKey, sessionToken, assumeRoleArn,
	// serviceAccountJson, tenantId, clientId, clientSecret.
	CredentialsRef *v1alpha1.LocalReference `json:"credentialsRef,omitempty"`
	// Proxy is the URL of an HTTP, HTTPS or SOCKS5 proxy without user and
	// password; unset means the hub's environment.
	Proxy *string `json:"proxy,omitempty"`
	// APIURL is the API that issues tokens of a GitHub App; unset is derived from
	// url.
	APIURL *string `json:"apiUrl,omitempty"`
	// Region of a bucket or of a cloud registry.
	Region *string `json:"region,omitempty"`
	// Endpoint of a bucket; unset means the cloud's own.
	Endpoint *string `json:"endpoint,omitempty"`
	// PlainHTTP uses http for a registry, if the hub allows it.
	PlainHTTP *bool `json:"plainHttp,omitempty"`
	// PassCredentials sends credentials to other hosts that a chart index names.
	PassCredentials *bool `json:"passCredentials,omitempty"`
	// MaxBytes limits the disk space that the hub uses for it; unset means the
	// hub's own limit.
	// +kubebuilder:validation:Minimum=1
	MaxBytes *int64 `json:"maxBytes,omitempty"`
	// Verify says what must be signed before services move to it.
	Verify *Verification `json:"verify,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *v1alpha1.Reconciliation `json:"reconciliation,omitempty"`
}

// LocalFluxSource names a source of Flux in the namespace of the object.
type LocalFluxSource struct {
	// Kind of the source.
	// +kubebuilder:validation:Enum=GitRepository;OCIRepository;HelmRepository;Bucket
	Kind string `json:"kind"`
	// Name of the source.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// Verification says what must be signed, and by whom.
type Verification struct {
	// Mode is head or tag for git, cosign for oci, provenance for helm and for
	// charts in oci.
	// +kubebuilder:validation:Enum=head;tag;cosign;provenance
	Mode string `json:"mode"`
	// Keys are the trusted public keys.
	// +kubebuilder:validation:MinItems=1
	Keys []string `json:"keys"`
}

// Webhook lets an upstream notify the hub about a push.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axhook
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider`
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.repository`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Webhook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WebhookSpec   `json:"spec"`
	Status WebhookStatus `json:"status,omitempty"`
}

// WebhookSpec says who calls, and about which repository. Only reconciliation
// can be changed.
//
// +kubebuilder:validation:XValidation:rule="self.provider == oldSelf.provider && has(self.repository) == has(oldSelf.repository) && (!has(self.repository) || self.repository == oldSelf.repository) && self.secretRef == oldSelf.secretRef",message="a webhook cannot be changed: create another one"
type WebhookSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Provider that calls.
	// +kubebuilder:validation:Enum=github;gitlab;gitea;bitbucket;azure;generic
	Provider string `json:"provider"`
	// Repository is the name of the repository that a delivery may refresh; unset
	// means any whose URL the delivery names.
	// +kubebuilder:validation:MaxLength=253
	Repository *string `json:"repository,omitempty"`
	// SecretRef is a key of a Secret that holds the webhook's secret, at least 16
	// bytes. If the Secret does not exist, it is created with a random one.
	SecretRef v1alpha1.KeySelector `json:"secretRef"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *v1alpha1.Reconciliation `json:"reconciliation,omitempty"`
}

// WebhookStatus shows the URL to configure at the upstream.
type WebhookStatus struct {
	v1alpha1.Status `json:",inline"`
	// URL that the upstream calls.
	URL string `json:"url,omitempty"`
}
