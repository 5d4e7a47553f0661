package object

import "github.com/axle-cd/axle/internal/rule"

// Repository is described by the request CreateRepositoryRequest.
var Repository = Kind{
	Name: "Repository", Request: "CreateRepositoryRequest", Text: "A repository of any type that services follow: Git, chart repository, OCI registry or bucket.",
	Diagnostic: true, Noun: "repos", Flags: []string{"repo", "repository", "chart-repo"},
	Calls: created("Repositories"), Listing: "Repositories, with their health.", Plural: "repositories", Also: "url", Formerly: "plural_git_repository",
	Fields: Fields{
		"CreateRepositoryRequest.name":            {Required: true, Immutable: true, Rule: rule.Name, Text: "The name, which cannot change."},
		"CreateRepositoryRequest.project":         {Computed: true, Immutable: true, Text: "The project of the repository. Empty is the default one.", Reference: "Project"},
		"CreateRepositoryRequest.type":            {Immutable: true, Default: "git", Enum: rule.RepositoryTypes, Text: "git, helm, oci or bucket."},
		"CreateRepositoryRequest.url":             {Required: true, Text: "Where the repository is. Stored credentials never follow a change of it: give them anew."},
		"CreateRepositoryRequest.credentials":     {Secret: true, Text: "How the hub logs in."},
		"CreateRepositoryRequest.auth":            {Derived: true, Enum: rule.RepositoryAuth},
		"CreateRepositoryRequest.options":         {Text: "Options that are no secrets."},
		"UpdateRepositoryRequest.options":         {Whole: true},
		"RepositoryOptions.max_bytes":             {Default: int64(0)},
		"RepositoryOptions.plain_http":            {Default: false},
		"RepositoryOptions.pass_credentials":      {Default: false},
		"RepositoryOptions.hub_identity":          {Default: false},
		"RepositoryOptions.endpoint":              {Text: "The endpoint of the storage service, in place of the cloud's."},
		"RepositoryOptions.verify":                {Text: "How content is verified."},
		"Verification.mode":                       {Enum: orNone(rule.Verifications)},
		"RepositoryCredentials.username":          {Text: "The user."},
		"RepositoryCredentials.password":          {Text: "The password, or a token."},
		"RepositoryCredentials.private_key":       {Text: "The private key for SSH, PEM."},
		"RepositoryCredentials.passphrase":        {Text: "The passphrase of the private key."},
		"RepositoryCredentials.known_hosts":       {Text: "The host keys to trust, as in known_hosts."},
		"RepositoryCredentials.ca_pem":            {Text: "The authority of the server's certificate, PEM."},
		"RepositoryCredentials.client_key":        {Text: "The key of the client certificate, PEM."},
		"RepositoryCredentials.proxy_username":    {Text: "The user at the proxy."},
		"RepositoryCredentials.proxy_password":    {Text: "The password at the proxy."},
		"RepositoryCredentials.installation_id":   {Text: "The installation of the app."},
		"RepositoryCredentials.secret_access_key": {Text: "The secret access key of the cloud."},
		"RepositoryCredentials.session_token":     {Text: "The session token of the cloud."},
		"RepositoryCredentials.client_id":         {Text: "The id of the application."},
		"RepositoryCredentials.client_secret":     {Text: "The secret of the application."},
	},
}

// Webhook is described by the request CreateWebhookRequest.
var Webhook = Kind{
	Name: "Webhook", Request: "CreateWebhookRequest", Text: "A URL that an upstream calls after a push.",
	Diagnostic: true, Noun: "webhooks",
	Calls:   Calls{Service: "Webhooks", Create: "Create", Update: "Create", List: "List", Delete: "Delete", Replaces: true},
	Listing: "Webhooks, with their last delivery.", Shows: []string{"url"}, Formerly: "plural_scm_webhook",
	Fields: Fields{
		"CreateWebhookRequest.name":       {Required: true, Immutable: true, Rule: rule.Name, Text: "The name, which cannot change."},
		"CreateWebhookRequest.provider":   {As: "scm_provider", Text: "github, gitlab, gitea, bitbucket, azure or generic.", Required: true, Immutable: true, Enum: rule.WebhookProviders},
		"CreateWebhookRequest.repository": {Immutable: true, Text: "The only repository that it may kick; empty allows any whose URL a delivery names.", Reference: "Repository"},
		"CreateWebhookRequest.secret":     {Required: true, Secret: true, Text: "The secret that deliveries are signed with, at least 16 bytes."},
	},
}
