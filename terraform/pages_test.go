package terraform_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/axle-cd/axle/terraform"
)

var update = flag.Bool("update", false, "write the pages anew")

const folder = "../docs/terraform/"

// TestPages compares docs/terraform with the schemas and the examples. make generate
// runs it with -update.
func TestPages(t *testing.T) {
	server, err := providerserver.NewProtocol6WithError(terraform.New(nil))()
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range schemas.Diagnostics {
		t.Fatalf("%s: %s", d.Summary, d.Detail)
	}
	pages := map[string]string{
		"provider.md":     "# The provider\n\n" + schemas.Provider.Block.Description + "\n\n" + fence(t, "provider") + table(schemas.Provider.Block),
		"data-sources.md": "# Data sources\n\nEach list of the hub's API, and one object of each kind by its name.\n" + sections(schemas.DataSourceSchemas),
		"ephemeral.md":    "# Ephemeral resources\n\nTheir values are in no state and no plan.\n" + sections(schemas.EphemeralResourceSchemas) + functions(schemas.Functions),
	}
	for name, s := range schemas.ResourceSchemas {
		short := strings.TrimPrefix(name, "axle_")
		example := ""
		if short != "service_wait" {
			example = fence(t, short)
		}
		pages["resources/"+short+".md"] = "# " + name + "\n\n" + s.Block.Description + "\n\n" + example + table(s.Block) + importing(short)
	}
	if len(pages) < 20 {
		t.Fatalf("%d pages", len(pages))
	}
	for name, want := range pages {
		want = strings.TrimRight(want, "\n") + "\n"
		path := filepath.Join(folder, name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if have, err := os.ReadFile(path); err != nil || string(have) != want {
			t.Errorf("%s is not what make generate writes (%v)", path, err)
		}
	}
	there, err := filepath.Glob(folder + "resources/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range there {
		if _, ok := pages["resources/"+filepath.Base(path)]; !ok {
			t.Errorf("%s is about nothing", path)
		}
	}
}

func fence(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../examples/terraform/" + name + ".tf")
	if err != nil {
		t.Fatal(err)
	}
	return "```terraform\n" + string(text) + "```\n\n"
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
