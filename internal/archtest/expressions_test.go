package archtest_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ofAdministrators are packages of the hub that parse YAML which only administrators write.
var ofAdministrators = map[string]string{
	"hub/config/backend": "the file of backends; a SOPS file counts its aliases itself",
	"hub/login/declared": "the file of login providers",
}

// engines are what evaluates other expressions of others, by the call that makes one, with the
// packages that have a bound and a row in docs/limits.md for theirs.
var engines = map[string][]string{
	"liquid.New":             {"hub/fleet/globals", "operator/generated"},
	"jsonschema.NewCompiler": {"hub/clusterapi"},
	"cel.NewCustomEnv":       {"internal/clustercheck"},
	"cel.NewEnv":             nil,
	"lua.NewState":           {"internal/luabox"}, // its callers give the limits
	"semver.NewConstraint":   {"hub/console/readinessapi", "hub/gitcache/artifactagent", "hub/gitcache/references", "hub/gitcache/upstream/chartindex"},
}

// Expressions and texts that somebody else wrote have a bound that is known before they are
// evaluated (docs/limits.md): regular expressions that are no constants are compiled by
// internal/cost alone, PromQL is parsed by internal/promql alone, the hub parses YAML after
// internal/aliases, and an engine runs only where it has a bound.
func TestExpressionsOfOthersAreBounded(t *testing.T) {
	root, _, _, packages := load(t)
	unused := maps.Clone(ofAdministrators)
	found := map[string][]string{}
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		top, _, _ := strings.Cut(folder, "/")
		if !slices.Contains([]string{"hub", "operator", "internal"}, top) || folder == "internal/cost" || strings.HasPrefix(folder, "internal/archtest") {
			continue
		}
		calls, bounded := parsing(t, filepath.Join(root, folder))
		if at := calls["regexp.Compile"]; at != "" {
			t.Errorf("%s: %s compiles a regular expression that is no constant: use internal/cost", folder, at)
		}
		for _, call := range []string{"parser.ParseExpr", "parser.ParseMetricSelector", "parser.ParseMetricSelectors", "labels.NewMatcher", "labels.MustNewMatcher"} {
			if at := calls[call]; at != "" && folder != "internal/promql" && !(folder == "hub/observe" && call == "labels.NewMatcher") { // which has its own names alone
				t.Errorf("%s: %s calls %s, which compiles regular expressions of others: use internal/promql", folder, at, call)
			}
		}
		for engine, bounds := range engines {
			at := calls[engine]
			if at == "" {
				continue
			}
			if found[engine] = append(found[engine], folder); !slices.Contains(bounds, folder) {
				t.Errorf("%s: %s calls %s: bound what an expression may take before it runs, add it to docs/limits.md with its test, and then to engines", folder, at, engine)
			}
		}
		yaml := cmp.Or(calls["yaml.Unmarshal"], calls["yaml.YAMLToJSON"])
		delete(unused, folder)
		if top == "hub" && yaml != "" && !bounded && ofAdministrators[folder] == "" {
			t.Errorf("%s: %s parses YAML: ask internal/aliases first, or say in ofAdministrators who writes it", folder, yaml)
		}
	}
	for engine, bounds := range engines {
		if !slices.Equal(found[engine], bounds) {
			t.Errorf("%s is called by %q, and engines has %q", engine, found[engine], bounds)
		}
	}
	for folder := range unused {
		t.Errorf("ofAdministrators has %s, which does not exist", folder)
	}
}

// parsing returns where a package calls each parser, and whether it asks internal/aliases.
func parsing(t *testing.T, folder string) (calls map[string]string, bounded bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	calls = map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			bounded = bounded || strings.HasSuffix(strings.Trim(i.Path.Value, `"`), "/internal/aliases")
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok {
					if of, ok := f.X.(*ast.Ident); ok {
						calls[of.Name+"."+f.Sel.Name] = filepath.Base(name)
					}
				}
			}
			return true
		})
	}
	return calls, bounded
}
