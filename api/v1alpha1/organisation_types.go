package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Project groups clusters, repositories and services for access control.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle;axle-all,shortName=axproj
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Name",type=string,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Project struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProjectSpec `json:"spec"`
	Status Status      `json:"status,omitempty"`
}

// ProjectSpec describes the project and who may do what in it.
type ProjectSpec struct {
	// Name in the hub.
	Name string `json:"name"`
	// Description in plain text.
	Description *string `json:"description,omitempty"`
	// Bindings of the project; they apply to everything in it.
	Bindings *Bindings `json:"bindings,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// Group is a set of users and service accounts.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axgrp
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Global",type=boolean,JSONPath=`.spec.global`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Group struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GroupSpec `json:"spec,omitempty"`
	Status Status    `json:"status,omitempty"`
}

// GroupSpec describes the group.
type GroupSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Description in plain text. The hub takes it when the group is created.
	Description *string `json:"description,omitempty"`
	// Global makes every user a member. Does not act yet.
	// +kubebuilder:default=false
	Global *bool `json:"global,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// ServiceAccount is the identity of a program. Its token is written to a
// Secret.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle;axle-all,shortName=axsa
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Email",type=string,JSONPath=`.spec.email`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ServiceAccount struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ServiceAccountSpec `json:"spec"`
	Status Status             `json:"status,omitempty"`
}

// ServiceAccountSpec names the account and limits its token.
type ServiceAccountSpec struct {
	// Email names the account; the mailbox need not exist. In the hub it is written
	// with .at. in place of @, and has at most 63 letters, digits, dashes and dots.
	Email string `json:"email"`
	// Scopes limit the token to reading, if all of them end in .read. Calls and
	// objects do not limit it: that part does not act yet.
	Scopes []ServiceAccountScope `json:"scopes,omitempty"`
	// TokenSecretRef is the Secret that the token is written to, with the key
	// token. It is created, and must not exist beforehand.
	TokenSecretRef *SecretReference `json:"tokenSecretRef,omitempty"`
	// TokenExpiry is the lifetime of a token, such as 12h, 7d or 4w; unset is 90d. It
	// is renewed when two thirds are over.
	TokenExpiry *string `json:"tokenExpiry,omitempty"`
	// AssumeBindings say who may act as the account. Does not act yet.
	AssumeBindings []Binding `json:"assumeBindings,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// ServiceAccountScope allows calls, for some objects or for all.
type ServiceAccountScope struct {
	// API is an allowed call.
	API *string `json:"api,omitempty"`
	// APIs are allowed calls.
	APIs []string `json:"apis,omitempty"`
	// Identifier is the ID of the object; unset or * means all.
	Identifier *string `json:"identifier,omitempty"`
	// IDs are the IDs of the objects.
	IDs []string `json:"ids,omitempty"`
}

// NamespaceCredentials lets the objects of some namespaces act with a token of
// their own, not with the operator's.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle;axle-all,shortName=axnc
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Namespaces",type=string,JSONPath=`.spec.namespaces`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NamespaceCredentials struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NamespaceCredentialsSpec   `json:"spec"`
	Status NamespaceCredentialsStatus `json:"status,omitempty"`
}

// NamespaceCredentialsSpec names the namespaces and the token.
type NamespaceCredentialsSpec struct {
	// Namespaces whose objects act with the token. If two NamespaceCredentials name
	// a namespace, none of them acts there.
	Namespaces []string `json:"namespaces"`
	// SecretRef is a Secret with the key token. It lies in an admin namespace of the
	// operator, or in the namespace that the credentials are for if that is only one.
	SecretRef SecretReference `json:"secretRef"`
	// Reconciliation sets how often the hub is asked as whom the token acts. Objects
	// use a changed token at once.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// NamespaceCredentialsStatus identifies the token in use.
type NamespaceCredentialsStatus struct {
	Status `json:",inline"`
	// TokenSHA changes when the Secret changes. It is a hash of the Secret's version,
	// not of the token, so that no token can be tried against it.
	TokenSHA *string `json:"tokenSHA,omitempty"`
}

// FederatedCredential lets tokens of another issuer act as a service account of
// the hub.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=axle;axle-all,shortName=axfc
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Issuer",type=string,JSONPath=`.spec.issuer`
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.spec.user`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FederatedCredential struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FederatedCredentialSpec `json:"spec"`
	Status Status                  `json:"status,omitempty"`
}

// FederatedCredentialSpec says which tokens are accepted, and which identity
// they get.
type FederatedCredentialSpec struct {
	// Issuer of the tokens, an https URL with OpenID discovery. It cannot be
	// changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="issuer cannot be changed: create another credential"
	Issuer string `json:"issuer"`
	// User is the e-mail of the ServiceAccount that the tokens act as. It cannot be
	// changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="user cannot be changed: create another credential"
	User string `json:"user"`
	// ClaimsLike is a JSON object of regular expressions, one for each claim
	// that a token must have. Each matches the whole claim. Only aud is a plain text:
	// the audience, which is the hub's URL if it is unset.
	// +kubebuilder:pruning:PreserveUnknownFields
	ClaimsLike *runtime.RawExtension `json:"claimsLike,omitempty"`
	// Scopes of the tokens: read, write or admin; unset is read.
	Scopes []string `json:"scopes,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}

// OIDCProvider makes the hub the identity provider of an application and
// writes the client's credentials to a Secret. Who may log in is in the annotations
// axle-cd.github.io/users and axle-cd.github.io/groups, separated by commas: without
// them nobody may. The application is in the project default, or the one of the
// annotation axle-cd.github.io/project.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axoidc
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type OIDCProvider struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   OIDCProviderSpec `json:"spec"`
	Status Status           `json:"status,omitempty"`
}

// OIDCProviderSpec describes the application.
type OIDCProviderSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Description in plain text. It does not act: an application has none.
	Description *string `json:"description,omitempty"`
	// RedirectURIs are the allowed redirect URIs, each compared as a whole: https URLs
	// below a domain of the project, or http on 127.0.0.1, [::1] or localhost.
	RedirectURIs []string `json:"redirectUris,omitempty"`
	// CredentialsSecretRef is the Secret that clientId, clientSecret and issuer are
	// written to. One that exists and has a clientSecret of its own is never written:
	// the hub takes over its clientId and clientSecret.
	CredentialsSecretRef LocalReference `json:"credentialsSecretRef"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *Reconciliation `json:"reconciliation,omitempty"`
}
