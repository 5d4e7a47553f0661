package reference

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/axle-cd/axle/terraform"
)

// providerPages returns the pages of the Terraform provider, made of its schemas and of the
// examples below root.
func providerPages(ctx context.Context, root string) (map[string]string, error) {
	server, err := providerserver.NewProtocol6WithError(terraform.New(nil))()
	if err != nil {
		return nil, err
	}
	schemas, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	for _, d := range schemas.Diagnostics {
		return nil, fmt.Errorf("the provider's schema: %s: %s", d.Summary, d.Detail)
	}
	example, err := fence(root, "provider")
	if err != nil {
		return nil, err
	}
	const folder = "terraform/"
	index := "# Terraform and OpenTofu\n\n## Pages\n\n- [The provider](provider.md): where the hub is, and who the provider is there\n" +
		"- [Data sources](data-sources.md)\n- [Ephemeral resources](ephemeral.md): tokens, kubeconfigs, functions\n"
	pages := map[string]string{
		folder + "provider.md":     "# The provider\n\n" + schemas.Provider.Block.Description + "\n\n" + example + table(schemas.Provider.Block),
		folder + "data-sources.md": "# Data sources\n\nEach list of the hub's API, and one object of each kind by its name.\n" + sections(schemas.DataSourceSchemas),
		folder + "ephemeral.md":    "# Ephemeral resources\n\nTheir values are in no state and no plan.\n" + sections(schemas.EphemeralResourceSchemas) + functions(schemas.Functions),
	}
	for _, name := range slices.Sorted(maps.Keys(schemas.ResourceSchemas)) {
		block := schemas.ResourceSchemas[name].Block
		short := strings.TrimPrefix(name, "axle_")
		example := ""
		if short != "service_wait" {
			if example, err = fence(root, short); err != nil {
				return nil, err
			}
		}
		pages[folder+"resources/"+short+".md"] = "# " + name + "\n\n" + block.Description + "\n\n" + example + table(block) + importing(short)
		index += "- [" + name + "](resources/" + short + ".md)\n"
	}
	pages[folder+"README.md"] = index
	for name, page := range pages {
		pages[name] = strings.TrimRight(page, "\n") + "\n"
	}
	return pages, nil
}

func fence(root, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "examples/terraform", name+".tf"))
	return "```terraform\n" + string(text) + "```\n\n", err
}

func sections(all map[string]*tfprotov6.Schema) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s", name, all[name].Block.Description, table(all[name].Block))
	}
	return b.String()
}

func functions(all map[string]*tfprotov6.Function) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		var parameters []string
		for _, p := range f.Parameters {
			parameters = append(parameters, p.Name)
		}
		fmt.Fprintf(&b, "\n## provider::axle::%s(%s)\n\n%s\n", name, strings.Join(parameters, ", "), f.Description)
	}
	return b.String()
}

// importing says how an object is imported.
func importing(name string) string {
	id := terraform.ImportID(name)
	if id == "" {
		return ""
	}
	return fmt.Sprintf("\n## Import\n\n```terraform\nimport {\n  to = axle_%s.example\n  id = \"%s\"\n}\n```\n", name, id)
}

// table is the attributes of a block, in one list with dotted names.
func table(b *tfprotov6.SchemaBlock) string {
	var out strings.Builder
	out.WriteString("| attribute | type | | meaning |\n|---|---|---|---|\n")
	rows(&out, "", b.Attributes)
	for _, nested := range b.BlockTypes {
		var names []string
		for _, a := range nested.Block.Attributes {
			names = append(names, "`"+a.Name+"`")
		}
		fmt.Fprintf(&out, "| `%s` | block | optional | How long operations may take: %s, such as `5m`. |\n", nested.TypeName, strings.Join(names, ", "))
	}
	return out.String()
}

func rows(out *strings.Builder, at string, all []*tfprotov6.SchemaAttribute) {
	// What must be given comes first.
	slices.SortStableFunc(all, func(a, b *tfprotov6.SchemaAttribute) int {
		rank := func(x *tfprotov6.SchemaAttribute) string {
			switch {
			case x.Required:
				return "1" + x.Name
			case x.Optional:
				return "2" + x.Name
			}
			return "3" + x.Name
		}
		return strings.Compare(rank(a), rank(b))
	})
	for _, a := range all {
		fmt.Fprintf(out, "| `%s%s` | %s | %s | %s |\n", at, a.Name, kindOf(a), use(a), strings.ReplaceAll(a.Description, "|", "\\|"))
		if a.NestedType != nil {
			rows(out, at+a.Name+".", a.NestedType.Attributes)
		}
	}
}

func kindOf(a *tfprotov6.SchemaAttribute) string {
	if a.NestedType != nil {
		return map[tfprotov6.SchemaObjectNestingMode]string{
			tfprotov6.SchemaObjectNestingModeSingle: "object", tfprotov6.SchemaObjectNestingModeList: "list of objects", tfprotov6.SchemaObjectNestingModeMap: "map of objects",
		}[a.NestedType.Nesting]
	}
	text := strings.ToLower(strings.TrimPrefix(a.Type.String(), "tftypes."))
	if kind, element, ok := strings.Cut(text, "["); ok {
		return kind + " of " + strings.TrimSuffix(strings.TrimPrefix(element, "tftypes."), "]") + "s"
	}
	return text
}

func use(a *tfprotov6.SchemaAttribute) string {
	switch {
	case a.WriteOnly && a.Required:
		return "required, write-only"
	case a.WriteOnly:
		return "write-only"
	case a.Required:
		return "required"
	case a.Optional:
		return "optional"
	}
	return "read-only"
}
