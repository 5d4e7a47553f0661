// Package rule holds the rules of texts that people give: patterns of names, and lists of
// words, each once. The hub's parts check what is declared with them; package api/object
// names them for fields of requests, and through it they reach the CLI, Terraform, the
// definitions of kinds and the console, whose copy in web/src/api/rules.ts is generated.
//
// It only describes texts and reads nothing. Every package may call it.
//
// Invariant: an object that was stored before a rule may be changed in every other field,
// so rules of names are for what is new.
package rule

import (
	"regexp"
	"strings"
	"sync"
)

// Text is the rule of a text.
type Text struct {
	// Pattern is RE2 that means the same in JavaScript and in definitions of kinds.
	Pattern string
	// Words completes "use …" in errors.
	Words   string
	matches func() *regexp.Regexp
}

// text compiles a pattern when it is first used: an agent uses one of them.
func text(pattern, words string) *Text {
	return &Text{Pattern: pattern, Words: words, matches: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })}
}

// Valid reports whether a text keeps the rule.
func (t *Text) Valid(s string) bool { return t.matches().MatchString(s) }

// The names of objects.
var (
	// Label is for clusters, their handles, projects, services, namespaces, and for
	// backends of values: they become labels of Kubernetes.
	Label = text(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`, "up to 63 lower-case letters, digits and dashes, with a letter or digit at both ends")
	// Name is for what a custom resource may declare under its own name, such as
	// repositories, webhooks, notification sinks and routers.
	Name = text(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`, "up to 253 lower-case letters, digits, dots and dashes, with a letter or digit at both ends")
	// Account is for service accounts and for trusts in the issuers of their tokens.
	Account = text(`^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$`, "up to 63 lower-case letters, digits, dots and dashes, with a letter or digit at both ends")
	// LoginProvider is for login providers: the name is in the callback URL.
	LoginProvider = text(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`, "up to 40 lower-case letters, digits and dashes, such as okta, with a letter or digit at both ends")
	// ValueSet is for contexts and outputs.
	ValueSet = text(`^[a-zA-Z0-9]([-a-zA-Z0-9_.]{0,61}[a-zA-Z0-9])?$`, "up to 63 letters, digits, dashes, dots and underscores, with a letter or digit at both ends")
	// Domain is for the domains of a project: a name with a dot whose last part is no number,
	// so that it is no address.
	Domain = text(`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`, "lower-case letters, digits, dashes and dots, such as shop.example.com, without a wildcard: what is below it is meant too")
	// Group is for groups of users. They are sent to clusters in a header. A name with a
	// colon is of somebody who gives such names: of Kubernetes, of a cloud, of a cluster's
	// own login (oidc:), or of the hub (axle:).
	Group = text(`^[A-Za-z0-9]([A-Za-z0-9 ._/@+-]{0,197}[A-Za-z0-9._/@+-])?$`, "up to 199 letters, digits, spaces and . _ / @ + -, with a letter or digit at the beginning and no space at the end")
	// Folder is for folders of a repository.
	Folder = text(`^[a-zA-Z0-9_][-a-zA-Z0-9_.]*([/][a-zA-Z0-9_][-a-zA-Z0-9_.]*)*$`, "the path of a folder in the repository, without a slash at the ends, such as deploy/clusters/eks")
	// Commit is the whole id of a commit of Git, which is more exact than any other ref.
	Commit = text(`^[0-9a-f]{40}([0-9a-f]{24})?$`, "the 40 or 64 hexadecimal digits of a commit")
	// SHA256 is for digests, without the name of their algorithm.
	SHA256 = text(`^[0-9a-f]{64}$`, "the 64 hexadecimal digits of a SHA-256")
	// GroupKind is for kinds of Kubernetes with their groups.
	GroupKind = text(`^[A-Z][a-zA-Z0-9]{0,62}(\.[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$`, "Kind.group, such as Cluster.cluster.x-k8s.io, or the Kind for the core group")
	// Version is for versions of what others release: one to three numbers, and what Semantic
	// Versioning allows after them.
	Version = text(`^v?[0-9]{1,9}(\.[0-9]{1,9}){0,2}(-[0-9A-Za-z.-]{1,100})?(\+[0-9A-Za-z.-]{1,100})?$`, "a version such as 1.14.0")
	// KubernetesMinor is for minor versions of Kubernetes.
	KubernetesMinor = text(`^v?1\.[0-9]{1,3}$`, "a minor version of Kubernetes such as 1.36")
	// Link is for pages that people are sent to.
	Link = text(`^https?://[^\s"'<>]{1,1000}$`, "a URL that begins with https:// or http://")
	// Tool is for tools of the renderer EXEC.
	Tool = text(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$`, "up to 63 letters, digits, dots, dashes and underscores, with a letter or digit at the beginning")
)

// The words of fields that have a list of them.
var (
	// Distros are the vendors of Kubernetes.
	Distros = []string{"GENERIC", "EKS", "AKS", "GKE", "RKE", "K3S", "OPENSHIFT"}
	// Renderers are the types of renderers.
	Renderers = []string{"AUTO", "RAW", "HELM", "KUSTOMIZE", "JSONNET", "CUE", "EXEC", "WASM"}
	// Cascades say what happens to a target that is no longer wanted.
	Cascades = []string{"delete", "detach"}
	// RepositoryTypes, RepositoryAuth and Verifications are those of repositories.
	RepositoryTypes = []string{"git", "helm", "oci", "bucket"}
	RepositoryAuth  = []string{"none", "basic", "token", "ssh", "app", "bearer", "aws", "gcp", "azure"}
	Verifications   = []string{"head", "tag", "cosign", "provenance"}
	// WebhookProviders are the senders of webhooks.
	WebhookProviders = []string{"github", "gitlab", "gitea", "bitbucket", "azure", "generic"}
	// Actions are the rights of role bindings.
	Actions = []string{"read", "write", "create", "git"}
	// SinkTypes and Priorities are those of notification sinks.
	SinkTypes  = []string{"SLACK", "TEAMS", "DISCORD", "GOOGLE_CHAT", "WEBHOOK", "PLURAL"}
	Priorities = []string{"LOW", "MEDIUM", "HIGH"}
	// SigningAlgorithms sign the tokens of applications.
	SigningAlgorithms = []string{"RS256", "ES256"}
	// TelemetryTypes, TelemetrySchemes and TelemetryAuth are those of telemetry sources.
	TelemetryTypes   = []string{"prometheus", "alertmanager", "victorialogs", "loki"}
	TelemetrySchemes = []string{"http", "https"}
	TelemetryAuth    = []string{"none", "basic", "bearer"}
	// UsuallyFalse are the conditions of Cluster API whose truth means that something goes on;
	// the others are to be true.
	UsuallyFalse = []string{"Deleting", "Paused", "RollingOut", "ScalingUp", "ScalingDown", "Remediating"}
)

// ClientPrefix begins the ids of clients that the hub's identity provider made. Nothing else
// that a token is for has such a name.
const ClientPrefix = "app_"

// IsClient reports whether a text has the form of such an id, whatever its case.
func IsClient(text string) bool { return strings.HasPrefix(strings.ToLower(text), ClientPrefix) }

// Or lists words as people read them: A, B or C.
func Or(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
