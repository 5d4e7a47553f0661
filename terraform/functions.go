package terraform

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/function"
)

// handle turns any text into a name that the hub takes.
type handle struct{}

func newHandle() function.Function { return handle{} }

// Metadata implements function.Function.
func (handle) Metadata(_ context.Context, _ function.MetadataRequest, answer *function.MetadataResponse) {
	answer.Name = "handle"
}

// Definition implements function.Function.
func (handle) Definition(_ context.Context, _ function.DefinitionRequest, answer *function.DefinitionResponse) {
	answer.Definition = function.Definition{
		Summary:             "A name or handle made of any text",
		MarkdownDescription: "Makes a name that the hub takes of any text, such as the name or the ARN of a cloud's cluster: lower case letters, digits and dashes, at most 63. `Prod EU (1)` becomes `prod-eu-1`.",
		Parameters:          []function.Parameter{function.StringParameter{Name: "text", MarkdownDescription: "Any text with a letter or a digit."}},
		Return:              function.StringReturn{},
	}
}

// Run implements function.Function.
func (handle) Run(ctx context.Context, r function.RunRequest, answer *function.RunResponse) {
	var text string
	if answer.Error = r.Arguments.Get(ctx, &text); answer.Error != nil {
		return
	}
	made := handleOf(text)
	if made == "" {
		answer.Error = function.NewArgumentFuncError(0, "the text has no letter and no digit")
		return
	}
	answer.Error = answer.Result.Set(ctx, made)
}

// maxName is the length of a name, in bytes.
const maxName = 63

func handleOf(text string) string {
	var b strings.Builder
	dash := false
	for _, c := range strings.ToLower(text) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(c)
			dash = false
		default:
			dash = true
		}
	}
	made := b.String()
	return strings.Trim(made[:min(len(made), maxName)], "-")
}

// serviceID joins the names that the id of an import has.
type serviceID struct{}

func newServiceID() function.Function { return serviceID{} }

// Metadata implements function.Function.
func (serviceID) Metadata(_ context.Context, _ function.MetadataRequest, answer *function.MetadataResponse) {
	answer.Name = "service_id"
}

// Definition implements function.Function.
func (serviceID) Definition(_ context.Context, _ function.DefinitionRequest, answer *function.DefinitionResponse) {
	answer.Definition = function.Definition{
		Summary:             "The id to import a service by",
		MarkdownDescription: "The id of a service for an `import` block: `CLUSTER/SERVICE`.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "cluster", MarkdownDescription: "The cluster, by name."},
			function.StringParameter{Name: "service", MarkdownDescription: "The service, by name."},
		},
		Return: function.StringReturn{},
	}
}

// Run implements function.Function.
func (serviceID) Run(ctx context.Context, r function.RunRequest, answer *function.RunResponse) {
	var cluster, service string
	if answer.Error = r.Arguments.Get(ctx, &cluster, &service); answer.Error == nil {
		answer.Error = answer.Result.Set(ctx, cluster+"/"+service)
	}
}
