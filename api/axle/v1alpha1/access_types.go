package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/api/v1alpha1"
)

// User is a user of the hub who exists before their first login.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axuser
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Email",type=string,JSONPath=`.spec.email`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type User struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   UserSpec        `json:"spec"`
	Status v1alpha1.Status `json:"status,omitempty"`
}

// UserSpec names the user.
type UserSpec struct {
	// Email that the user logs in with. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="email cannot be changed: create another user"
	// +kubebuilder:validation:MinLength=3
	Email string `json:"email"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *v1alpha1.Reconciliation `json:"reconciliation,omitempty"`
}

// AdminGrant makes a user or a service account an administrator of the hub for
// as long as it exists. It is a kind of its own, so that the right to create
// users does not include the right to create administrators.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axadm
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.spec.user`
// +kubebuilder:printcolumn:name="ServiceAccount",type=string,JSONPath=`.spec.serviceAccount`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AdminGrant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AdminGrantSpec  `json:"spec"`
	Status v1alpha1.Status `json:"status,omitempty"`
}

// AdminGrantSpec names the administrator; set one of the two fields.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a grant cannot be changed: create another one"
// +kubebuilder:validation:XValidation:rule="has(self.user) != has(self.serviceAccount)",message="set user or serviceAccount, one of the two"
type AdminGrantSpec struct {
	// User is the e-mail of the user.
	User *string `json:"user,omitempty"`
	// ServiceAccount is the name of the service account.
	ServiceAccount *string `json:"serviceAccount,omitempty"`
}

// GroupMembership adds members to a group of the hub. Members that were added
// elsewhere, by hand or through a login provider, stay.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axgm
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.group`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GroupMembership struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GroupMembershipSpec `json:"spec"`
	Status v1alpha1.Status     `json:"status,omitempty"`
}

// GroupMembershipSpec names the group and the members.
type GroupMembershipSpec struct {
	// Group is the name of the group.
	// +kubebuilder:validation:MinLength=1
	Group string `json:"group"`
	// Members of the group.
	// +kubebuilder:validation:MaxItems=1000
	Members []Member `json:"members"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *v1alpha1.Reconciliation `json:"reconciliation,omitempty"`
}

// Member is a user or a service account; set one of the two fields.
//
// +kubebuilder:validation:XValidation:rule="has(self.user) != has(self.serviceAccount)",message="set user or serviceAccount, one of the two"
type Member struct {
	// User is the e-mail of the user.
	User *string `json:"user,omitempty"`
	// ServiceAccount is the name of the service account.
	ServiceAccount *string `json:"serviceAccount,omitempty"`
}

// AccessBinding lets subjects perform actions at a place of the hub and
// everywhere below it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axab
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Actions",type=string,JSONPath=`.spec.actions`
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.place.project`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.place.cluster`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AccessBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AccessBindingSpec `json:"spec"`
	Status v1alpha1.Status   `json:"status,omitempty"`
}

// AccessBindingSpec says who may do what, and where.
type AccessBindingSpec struct {
	// Subjects that may perform the actions.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Subjects []Subject `json:"subjects"`
	// Actions that are allowed.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:Enum=read;write;create;git
	// +listType=set
	Actions []string `json:"actions"`
	// Place at which they are allowed; unset is the whole hub.
	Place *Place `json:"place,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *v1alpha1.Reconciliation `json:"reconciliation,omitempty"`
}

// Subject is a user, a service account or a group; set one of the three
// fields.
//
// +kubebuilder:validation:XValidation:rule="[has(self.user), has(self.serviceAccount), has(self.group)].filter(x, x).size() == 1",message="set user, serviceAccount or group, one of the three"
type Subject struct {
	// User is the e-mail of the user.
	User *string `json:"user,omitempty"`
	// ServiceAccount is the name of the service account.
	ServiceAccount *string `json:"serviceAccount,omitempty"`
	// Group is the name of the group.
	Group *string `json:"group,omitempty"`
}

// Place is a project, a cluster, or a service of a cluster.
//
// +kubebuilder:validation:XValidation:rule="has(self.project) != has(self.cluster)",message="set project or cluster, one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.service) || has(self.cluster)",message="a service comes with its cluster"
type Place struct {
	// Project is the name of the project.
	Project *string `json:"project,omitempty"`
	// Cluster is the handle of the cluster.
	Cluster *string `json:"cluster,omitempty"`
	// Service is the name of a service on the cluster.
	Service *string `json:"service,omitempty"`
}

// LoginProvider is an OpenID Connect issuer that users log in with.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axlogin
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Issuer",type=string,JSONPath=`.spec.issuer`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type LoginProvider struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   LoginProviderSpec   `json:"spec"`
	Status LoginProviderStatus `json:"status,omitempty"`
}

// LoginProviderSpec names the issuer and maps its claims.
type LoginProviderSpec struct {
	// Name in URLs; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Title of the button.
	Title *string `json:"title,omitempty"`
	// Issuer is an https URL with OpenID discovery. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="issuer cannot be changed: create another provider"
	Issuer string `json:"issuer"`
	// ClientID of the hub at the issuer.
	ClientID string `json:"clientId"`
	// ClientSecretRef is a key of a Secret that holds the client secret; unset is
	// a public client.
	ClientSecretRef *v1alpha1.KeySelector `json:"clientSecretRef,omitempty"`
	// Scopes to request in addition to openid.
	Scopes []string `json:"scopes,omitempty"`
	// GroupsClaim is the claim that holds the groups; dots select fields of
	// objects.
	GroupsClaim *string `json:"groupsClaim,omitempty"`
	// Groups maps values of that claim to groups of the hub; other values are
	// ignored.
	Groups map[string]string `json:"groups,omitempty"`
	// EmailDomains that may log in; unset means any.
	EmailDomains []string `json:"emailDomains,omitempty"`
	// AllowUnverified accepts e-mail addresses that the issuer has not verified.
	AllowUnverified *bool `json:"allowUnverified,omitempty"`
	// CAPEM are certificates to trust; unset means the system's.
	CAPEM *string `json:"caPem,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *v1alpha1.Reconciliation `json:"reconciliation,omitempty"`
}

// LoginProviderStatus shows the URLs to register at the issuer.
type LoginProviderStatus struct {
	v1alpha1.Status `json:",inline"`
	// CallbackURL for logins.
	CallbackURL string `json:"callbackURL,omitempty"`
	// LogoutURL for back-channel logout.
	LogoutURL string `json:"logoutURL,omitempty"`
}

// FederationTrust lets tokens of another issuer, such as a CI system, act as a
// service account. FederatedCredential is a simpler kind for the same purpose;
// this one also sets audience, lifetime and certificates.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axtrust
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="ID",type=string,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Issuer",type=string,JSONPath=`.spec.issuer`
// +kubebuilder:printcolumn:name="ServiceAccount",type=string,JSONPath=`.spec.serviceAccount`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FederationTrust struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FederationTrustSpec `json:"spec"`
	Status v1alpha1.Status     `json:"status,omitempty"`
}

// FederationTrustSpec says which tokens are accepted, and which service
// account they get. Only reconciliation can be changed.
//
// +kubebuilder:validation:XValidation:rule="self.issuer == oldSelf.issuer && self.audience == oldSelf.audience && self.claims == oldSelf.claims && self.serviceAccount == oldSelf.serviceAccount",message="a trust cannot be changed: create another one"
type FederationTrustSpec struct {
	// Name in the hub; unset is metadata.name.
	Name *string `json:"name,omitempty"`
	// Issuer is the iss claim of the tokens, an https URL with OpenID discovery.
	// +kubebuilder:validation:MaxLength=2048
	Issuer string `json:"issuer"`
	// Audience that the tokens must have.
	// +kubebuilder:validation:MaxLength=2048
	Audience string `json:"audience"`
	// Claims that the tokens must have. A value is a glob, in which * and ? also
	// match "/", or a regular expression between slashes. A name may be a path:
	// a.b.
	// +kubebuilder:validation:MaxProperties=64
	Claims map[string]string `json:"claims,omitempty"`
	// ServiceAccount is the name of the service account.
	// +kubebuilder:validation:MaxLength=253
	ServiceAccount string `json:"serviceAccount"`
	// Scopes of the issued tokens: read, write, admin.
	Scopes []string `json:"scopes,omitempty"`
	// Lifetime of the issued tokens, a Go duration of at most 1h.
	Lifetime *string `json:"lifetime,omitempty"`
	// CAPEM are certificates to trust for the issuer; unset means the system's.
	CAPEM *string `json:"caPem,omitempty"`
	// Reconciliation sets how often the object is compared with the hub.
	Reconciliation *v1alpha1.Reconciliation `json:"reconciliation,omitempty"`
}

// ReferenceGrant allows objects in other namespaces to refer to objects in
// this one. It has the shape of Gateway API's ReferenceGrant.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Namespaced,categories=axle;axle-all,shortName=axrg
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Readonly",type=boolean,JSONPath=`.status.readonly`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ReferenceGrant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ReferenceGrantSpec `json:"spec"`
	Status v1alpha1.Status    `json:"status,omitempty"`
}

// ReferenceGrantSpec says who may refer to what.
type ReferenceGrantSpec struct {
	// From are the objects that may refer.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	From []ReferenceGrantFrom `json:"from"`
	// To are the objects that may be referred to.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	To []ReferenceGrantTo `json:"to"`
}

// ReferenceGrantFrom selects objects of one kind in one namespace.
type ReferenceGrantFrom struct {
	// Group of their kind; empty is the core group.
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
	// Kind of the objects.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Namespace of the objects; empty for cluster-scoped kinds.
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
}

// ReferenceGrantTo selects objects of one kind, or one of them.
//
// +kubebuilder:validation:XValidation:rule="!has(self.write) || !self.write || has(self.name)",message="write is for one Secret: set its name"
type ReferenceGrantTo struct {
	// Group of their kind; empty is the core group.
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
	// Kind of the objects.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name of the object; unset means all.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name *string `json:"name,omitempty"`
	// Write allows to create and change the Secret with this name, in place of reading
	// it. One that exists and that others created stays as it is.
	Write *bool `json:"write,omitempty"`
}
