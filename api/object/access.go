package object

import "github.com/axle-cd/axle/internal/rule"

// User is described by the request CreateUserRequest.
var User = Kind{
	Name: "User", Request: "CreateUserRequest", Text: "A user of the hub before their first login.",
	Calls:   Calls{Service: "Users", Create: "Create", List: "List", Delete: "Delete"},
	Listing: "Users and service accounts.", Formerly: "plural_user",
	Fields: Fields{
		"CreateUserRequest.email":                 {Required: true, Immutable: true, Fold: true, Other: "name", Format: Email, Text: "The user's e-mail address."},
		"CreateUserRequest.admin":                 {Skip: true},
		"CreateUserRequest.token_scopes":          {Skip: true},
		"CreateUserRequest.token_lifetime_micros": {Skip: true},
	},
}

// AdminGrant is described by the request SetAdminRequest.
var AdminGrant = Kind{
	Name: "AdminGrant", Request: "SetAdminRequest", Text: "The administrator rights of a user or a service account.",
	Fields: Fields{
		"SetAdminRequest.name":  {Fold: true, Required: true, Immutable: true, As: "user", Text: "The e-mail address of a user, or the name of a service account."},
		"SetAdminRequest.admin": {Skip: true},
	},
}

// Group is described by the request CreateGroupRequest.
var Group = Kind{
	Name: "Group", Request: "CreateGroupRequest", Text: "A group of users and service accounts.",
	Noun:     "groups",
	Calls:    Calls{Service: "Groups", Create: "Create", Get: "Get", List: "List", Delete: "Delete"},
	Operator: true, Listing: "Groups, without their members.", Formerly: "plural_group",
	Fields: Fields{
		"CreateGroupRequest.name":        {Required: true, Immutable: true, Text: "The name, which clusters see as a group of Kubernetes."},
		"CreateGroupRequest.description": {Text: "For people. A change makes another group, without the members and rights of this one."},
	},
}

// GroupMembership is described by the request AddMemberRequest.
var GroupMembership = Kind{
	Name: "GroupMembership", Request: "AddMemberRequest", Text: "The membership of one user or service account in a group.",
	Fields: Fields{
		"AddMemberRequest.group": {Required: true, Immutable: true, Text: "The group.", Reference: "Group"},
		"AddMemberRequest.user":  {Required: true, Immutable: true, Text: "The e-mail address of a user, or the name of a service account."},
	},
}

// AccessBinding is described by the request CreateBindingRequest.
var AccessBinding = Kind{
	Name: "AccessBinding", Request: "CreateBindingRequest", Text: "Rights of a user, service account or group at a place: the hub, a project, a cluster or a service.",
	Fields: Fields{
		"CreateBindingRequest.subject_kind": {Required: true, Immutable: true, Enum: []string{"user", "service_account", "group"}},
		"CreateBindingRequest.subject":      {Required: true, Immutable: true, Text: "The user, group or service account that gets the rights, by name or e-mail address."},
		"CreateBindingRequest.actions":      {Required: true, Set: true, Enum: rule.Actions, Text: "read, write, create or git."},
		"CreateBindingRequest.place":        {Flat: true},
		"Place.project":                     {Immutable: true, Text: "The project. With no project, cluster and service, it is the whole hub.", Reference: "Project"},
		"Place.cluster":                     {Immutable: true, Text: "The cluster, by name.", Reference: "Cluster"},
		"Place.service":                     {Immutable: true, Text: "The service, by name; it needs its cluster.", Reference: "ServiceDeployment"},
	},
}

// ServiceAccount is described by the request CreateServiceAccountRequest.
var ServiceAccount = Kind{
	Name: "ServiceAccount", Request: "CreateServiceAccountRequest", Text: "An identity of programs.",
	Calls:    Calls{Service: "ServiceAccounts", Create: "Create", List: "List", Delete: "Delete"},
	Operator: true, Listing: "Service accounts.", Formerly: "plural_service_account",
	Fields: Fields{
		"CreateServiceAccountRequest.name":  {Required: true, Immutable: true, Rule: rule.Account, Text: "The name, which cannot change."},
		"CreateServiceAccountRequest.admin": {Skip: true},
	},
}

// FederationTrust is described by the request CreateTrustRequest.
var FederationTrust = Kind{
	Name: "FederationTrust", Request: "CreateTrustRequest", Text: "An issuer whose tokens act as a service account of the hub.",
	Noun: "federation", Flags: []string{"trust"},
	Calls:   Calls{Service: "Federation", Create: "Create", List: "List", Delete: "Delete"},
	Listing: "Trusts in the tokens of issuers.",
	Fields: Fields{
		"CreateTrustRequest.name":            {Required: true, Immutable: true, Rule: rule.Account, Text: "The name, which cannot change."},
		"CreateTrustRequest.issuer":          {Required: true, Immutable: true, Format: URL, Text: "The token's iss, an https URL with OpenID discovery."},
		"CreateTrustRequest.audience":        {Required: true, Immutable: true, Text: "One of the token's aud must equal this."},
		"CreateTrustRequest.claims":          {Required: true, Immutable: true, Text: "Each pattern must match the whole claim: a glob, or a regular expression between slashes."},
		"CreateTrustRequest.account":         {Required: true, Immutable: true, Text: "The service account, by name.", Reference: "ServiceAccount"},
		"CreateTrustRequest.scopes":          {Computed: true, Immutable: true, Empty: []string{"read"}, Text: "read, write or admin; empty is read."},
		"CreateTrustRequest.lifetime_micros": {Computed: true, Immutable: true, Text: "How long exchanged tokens live, at most 1 h."},
		"CreateTrustRequest.ca_pem":          {Immutable: true},
	},
}

// LoginProvider is described by the request CreateProviderRequest.
var LoginProvider = Kind{
	Name: "LoginProvider", Request: "CreateProviderRequest", Text: "An OpenID Connect issuer that people log in with.",
	Noun:    "providers",
	Calls:   Calls{Service: "Providers", Create: "Create", Update: "Update", List: "List", Delete: "Delete"},
	Listing: "The issuers that people log in with.", Shows: []string{"callback_url", "logout_url"},
	Fields: Fields{
		"CreateProviderRequest.provider":      {Flat: true},
		"CreateProviderRequest.client_secret": {Secret: true},
		"Provider.id":                         {Skip: true},
		"Provider.name":                       {Required: true, Immutable: true, Rule: rule.LoginProvider},
		"Provider.title":                      {SameAs: "name"},
		"Provider.issuer":                     {Required: true, Immutable: true, Format: URL, Text: "The URL of the issuer, which has OpenID discovery."},
		"Provider.client_id":                  {Required: true, Text: "The id of the client at the issuer."},
		"Provider.scopes":                     {Computed: true},
		"Provider.email_domains":              {Set: true},
		"Provider.allow_unverified":           {Default: false, Text: "Let people log in whose e-mail address the issuer has not verified."},
		"Provider.created_at":                 {Skip: true},
		"Provider.callback_url":               {Skip: true},
		"Provider.logout_url":                 {Skip: true},
		"Provider.managed_by":                 {Skip: true},
		"UpdateProviderRequest.set":           {Mask: true},
		"Provider.ca_pem":                     {Text: "The authority of the issuer's certificate, PEM."},
	},
}
