// Package object describes the kinds of objects that people declare, each once: the
// request of the API that declares one, and for each field of it what the message does
// not say. The Terraform provider and the CLI read it; a new rule, text or reference is
// written here.
//
// It is data: it knows messages by their names, imports nothing but the rules of texts
// (internal/rule) and never acts. Parts of the hub's domain have structs of their own and
// read internal/rule. A check by a description needs no hub; the hub checks more when it is
// asked about a plan.
package object

import (
	"maps"
	"strings"
	"unicode"

	"github.com/axle-cd/axle/internal/rule"
)

// Kind describes one kind.
type Kind struct {
	// Name is that of the manifest's kind.
	Name string
	// Request is the message of axle.hub.v1 that declares an object.
	Request string
	// Text is a sentence about the kind.
	Text string
	// Calls are those for its objects; those of kinds that are rows of others are by hand.
	Calls Calls
	// Manifest is about the manifests of a kind of deployments.plural.sh that a settings message
	// declares; nil for the kinds that api/kinds lists by hand, and for those of axle-cd.github.io.
	Manifest *Manifest
	// Adopts is what the operator does with an object that exists and that no manifest
	// declares, by the words of operator/ownership; empty for the kinds that it lists by hand.
	Adopts string
	// Storage is how the hub keeps the objects of a kind without a table of its own; nil
	// for kinds with one.
	Storage *Storage
	// Operator is set if only the operator reads its manifests, such as for a token that it
	// puts into a Secret.
	Operator bool
	// Diagnostic is set if the list, which has no values then, is part of a support bundle.
	Diagnostic bool
	// Listing is a sentence about a list of objects, and Plural its name in snake case; empty
	// is that of the kind with an s.
	Listing, Plural string
	// Shows are fields of an object that nobody declares and that clients show with it.
	Shows []string
	// Noun are the words of its commands, such as "repos", and Flags those that name an object
	// in every command that has them.
	Noun  string
	Flags []string
	// Words are what people call the kind in commands, beside its name.
	Words []string
	// In is the folder of exported objects; empty is the kind's name in lower case with an s.
	In string
	// Also is a field of an object that finds one too, beside the key.
	Also string
	// Formerly is the type of the existing Terraform provider whose state can be moved here.
	Formerly string
	// Fields are those of the request and of the messages in it, by Message.field. A
	// message that several kinds hold is described with the first of them.
	Fields Fields
}

// Manifest is about the manifests of a kind.
type Manifest struct {
	// NotActing are the paths of fields that are kept and have no effect.
	NotActing []string
	// Paths has the path in a manifest of each field of the request that is not name,
	// settings or about the call itself.
	Paths map[string]string
}

// Calls are the methods of axle.hub.v1 for the objects of a kind. Each is a method's name,
// empty if there is none.
type Calls struct {
	// Service is that of the methods.
	Service string
	// Create makes an object and Update changes one; the same name is a method that does
	// either. Both take a Request, or a message whose fields have the names of its fields.
	Create, Update string
	// Get may be missing where List is not.
	Get, List, Delete string
	// Key is the field of requests and objects that names one; empty is name.
	Key string
	// Brief is set if the list leaves out some of what Get has.
	Brief bool
	// Replaces is set if Create takes over, and so changes, an object that exists.
	Replaces bool
}

// Upserts reports whether one method creates an object or changes it as it is.
func (c Calls) Upserts() bool { return c.Create != "" && c.Create == c.Update && !c.Replaces }

// Path is the name of a method with its service.
func (c Calls) Path(method string) string { return c.Service + "/" + method }

// Names is the field that names an object.
func (c Calls) Names() string {
	if c.Key == "" {
		return "name"
	}
	return c.Key
}

// created are the calls of a service with all methods.
func created(service string) Calls {
	return Calls{Service: service, Create: "Create", Update: "Update", Get: "Get", List: "List", Delete: "Delete"}
}

// applied are the calls of a service whose Apply both creates and changes.
func applied(service string) Calls {
	return Calls{Service: service, Create: "Apply", Update: "Apply", Get: "Get", List: "List", Delete: "Delete"}
}

// Fields are those of messages, by Message.field. A field without a row has its comment
// as text, and no rule.
type Fields map[string]Field

// Field is what a message does not say about one of its fields.
type Field struct {
	// Skip is for fields that nobody declares: how a call is made, and what is declared
	// elsewhere. Flat puts the fields of its message in its place.
	Skip, Flat bool
	// Required must be given. Computed may be left to the hub, and Derived is Computed
	// from other fields anew with each change.
	Required, Computed, Derived bool
	// Immutable makes another object when it changes.
	Immutable bool
	// Declared is compared with the hub only where it is given: an object that others made
	// has a value that nobody declares.
	Declared bool
	// Secret is written and never read.
	Secret bool
	// Clears is the field of the object that a true one empties, such as a key.
	Clears string
	// Empty are the values that an empty list means.
	Empty []string
	// Mask is a list of the fields that a change sets, Whole a message that it replaces also by
	// none, and Lacks a true one if the field of that name is empty.
	Mask, Whole bool
	Lacks       string
	// Set is a list without an order.
	Set bool
	// JSON texts are compared by their meaning, Fold ones without regard to case.
	JSON, Fold bool
	// As is the name of the attribute in Terraform, when it is not the field's. Other is
	// the field's name in other messages of the same object.
	As, Other string
	// Default is shown in plans: a string, a bool or an int64. SameAs is the attribute
	// whose value it is by default.
	Default any
	SameAs  string
	// Enum are the values that there are; an empty one is none of them.
	Enum []string
	// Rule is that of the text, or of each in a list. Format is what a text is parsed as.
	Rule   *rule.Text
	Format Format
	// Most is how many values a list of a kind with a storage has; 0 is any number.
	Most int
	// Reference is the kind whose objects the text names.
	Reference string
	// Text replaces the comment of the field.
	Text string
}

// Format is what a text is parsed as.
type Format string

// The formats.
const (
	Cron       Format = "cron schedule"
	Duration   Format = "duration"
	TimeZone   Format = "time zone"
	Expression Format = "regular expression"
	Liquid     Format = "Liquid template"
	Email      Format = "e-mail address"
	URL        Format = "URL"
)

// All are the kinds, in the order in which objects are made: each stands after those that
// it names. They are deleted in the reverse order.
var All = []Kind{
	HubSettings, Project, ProjectLimits, User, ServiceAccount, Group,
	Repository, Cluster, ClusterTemplate, CustomCompatibilityMatrix, Application, TelemetrySource, ServiceContext, Outputs, ManagedNamespace, GlobalService, ServiceDeployment,
	GroupMembership, AccessBinding, AdminGrant, LoginProvider, FederationTrust,
	Webhook, NotificationSink, NotificationRouter, AgentUpgrade,
}

// Of returns the kind that a request declares, and whether there is one.
func Of(request string) (Kind, bool) {
	for _, k := range All {
		if k.Request == request {
			return k, true
		}
	}
	return Kind{}, false
}

// Described are the fields of all kinds. Nobody declares how a call is made.
func Described() Fields {
	out := Fields{}
	for _, k := range All {
		maps.Copy(out, k.Fields)
		out[k.Request+".management"] = Field{Skip: true}
	}
	return out
}

// orNone are the words of a field that may be empty.
func orNone(words []string) []string { return append([]string{""}, words...) }

// Summary is the text, with what does not work yet.
func (k Kind) Summary() string {
	if k.Storage == nil {
		return k.Text
	}
	return strings.TrimSpace(k.Text + " " + k.Storage.Effect)
}

// Named returns the kind of that name, and whether it is described.
func Named(name string) (Kind, bool) {
	for _, k := range All {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Snake is the name of the kind in snake case.
func (k Kind) Snake() string {
	var out strings.Builder
	for i, r := range k.Name {
		if i > 0 && unicode.IsUpper(r) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// Folder is where exported objects are.
func (k Kind) Folder() string {
	if k.In == "" {
		return strings.ToLower(k.Name) + "s"
	}
	return k.In
}

// Many is the name of a list of objects in snake case.
func (k Kind) Many() string {
	if k.Plural == "" {
		return k.Snake() + "s"
	}
	return k.Plural
}

// NameRule is the rule of the names of new objects in words, empty if there is none.
func (k Kind) NameRule() string {
	for at, f := range k.Fields {
		if strings.HasSuffix(at, ".name") && f.Rule != nil {
			return f.Rule.Words
		}
	}
	return ""
}
