package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

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

// PrAutomationTrigger creates a pull request with a PrAutomation.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle-all,shortName=axprt
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Automation",type=string,JSONPath=`.spec.prAutomationRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PrAutomationTrigger struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PrAutomationTriggerSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No pull request is created: the hub has no automations of pull requests yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// PrAutomationTriggerSpec says which automation is used, with which answers.
type PrAutomationTriggerSpec struct {
	// PrAutomationRef is the PrAutomation.
	PrAutomationRef ObjectReference `json:"prAutomationRef,omitempty"`
	// Branch of the pull request.
	Branch string `json:"branch"`
	// Context holds the answers, any JSON object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Context *runtime.RawExtension `json:"context,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// PrGovernance asks another system before a pull request may be merged.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle-all,shortName=axprg
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PrGovernance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PrGovernanceSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "No pull request is held: the hub has no automations of pull requests yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// PrGovernanceSpec says which system is asked.
type PrGovernanceSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Type of the system.
	// +kubebuilder:validation:Enum=WEBHOOK;SERVICE_NOW
	Type string `json:"type"`
	// ConnectionRef is the ScmConnection of the pull requests.
	ConnectionRef ObjectReference `json:"connectionRef"`
	// Configuration of the system; only the field of its type is used.
	Configuration *PrGovernanceConfiguration `json:"configuration,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// PrGovernanceConfiguration configures the system that is asked.
type PrGovernanceConfiguration struct {
	// Webhook to call.
	Webhook *URLConfiguration `json:"webhook,omitempty"`
	// ServiceNow instance in which a change is opened.
	ServiceNow *PrGovernanceServiceNow `json:"serviceNow,omitempty"`
}

// URLConfiguration is a URL to call.
type URLConfiguration struct {
	// URL to call.
	URL string `json:"url"`
}

// PrGovernanceServiceNow is a ServiceNow instance.
type PrGovernanceServiceNow struct {
	// URL of the instance.
	URL string `json:"url"`
	// ChangeModel of the change; unset is Standard.
	ChangeModel *string `json:"changeModel,omitempty"`
	// Username to log in with.
	Username string `json:"username"`
	// PasswordSecretKeyRef is a Secret's key that holds the password.
	PasswordSecretKeyRef KeySelector `json:"passwordSecretKeyRef"`
	// SecretNamespace is the namespace of that Secret.
	SecretNamespace *string `json:"secretNamespace,omitempty"`
	// Attributes of the change, any JSON object.
	// +kubebuilder:pruning:PreserveUnknownFields
	Attributes *runtime.RawExtension `json:"attributes,omitempty"`
}

// Catalog groups PrAutomations.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle-all,shortName=axcat
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Category",type=string,JSONPath=`.spec.category`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Supported",type=string,JSONPath=`.status.conditions[?(@.type=="Supported")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Catalog struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec CatalogSpec `json:"spec"`
	// +kubebuilder:default={conditions: {{type: "Supported", status: "False", reason: "NotImplemented", message: "Nothing is shown: the hub has no automations of pull requests yet.", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status Status `json:"status,omitempty"`
}

// CatalogSpec describes the catalog.
type CatalogSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Author of the catalog.
	Author string `json:"author"`
	// Icon is the URL of an image.
	Icon *string `json:"icon,omitempty"`
	// DarkIcon is the URL of an image for dark themes.
	DarkIcon *string `json:"darkIcon,omitempty"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// Category of the catalog.
	Category *string `json:"category,omitempty"`
	// Tags of the catalog.
	Tags map[string]string `json:"tags,omitempty"`
	// ProjectRef is the Project of the catalog; unset is default.
	ProjectRef *ObjectReference `json:"projectRef,omitempty"`
	// Bindings of the catalog.
	Bindings *Bindings `json:"bindings,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}
