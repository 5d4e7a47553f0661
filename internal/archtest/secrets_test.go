package archtest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// secretless are packages that write to API servers, and no Secret.
var secretless = map[string]string{
	"agent/cleanup":      "an admission policy",
	"agent/clusterapi":   "everything by internal/kubeapply",
	"agent/doctor":       "reviews of its own rights",
	"agent/kube":         "namespaces",
	"agent/observe":      "reviews of the caller's rights",
	"agent/readiness":    "reviews of the caller's rights",
	"agent/upgrade":      "the agent's Deployment, and ConfigMaps",
	"hub/config/backend": "requests to clouds, to no API server",
	"operator/flux":      "Repositories",
	"operator/rights":    "statuses",
	"terraform/agent":    "everything by internal/kubeapply",
}

// clients are what writes to an API server.
var clients = []string{"k8s.io/client-go/kubernetes", "k8s.io/client-go/dynamic", "k8s.io/client-go/rest", "sigs.k8s.io/controller-runtime/pkg/client"}

// An API server quotes the Secret that it refuses. So whoever writes Secrets takes that out
// of the error (internal/secreterror), and whoever writes at all is one of those, or says
// what it writes.
func TestWritersOfSecretsQuoteNothing(t *testing.T) {
	root, _, _, packages := load(t)
	unused := maps.Clone(secretless)
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		if strings.HasPrefix(folder, "test/") || strings.HasPrefix(folder, "cmd/dev") || strings.HasSuffix(folder, "test") {
			continue
		}
		at, quotes := writes(t, filepath.Join(root, folder))
		if delete(unused, folder); at != "" && quotes && secretless[folder] == "" {
			t.Errorf("%s writes to an API server at %s: give its errors to internal/secreterror, or say in secretless what it writes", folder, at)
		}
		if at == "" && secretless[folder] != "" {
			t.Errorf("%s writes nothing to an API server: remove it from secretless", folder)
		}
	}
	for folder := range unused {
		t.Errorf("secretless has %s, which does not exist", folder)
	}
}

// writes returns where a package writes to an API server first, and whether nothing in it
// takes Secrets out of errors.
func writes(t *testing.T, folder string) (at string, quotes bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	quotes = true
	client, first := false, ""
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			client = client || slices.Contains(clients, path)
			quotes = quotes && !strings.HasSuffix(path, "/internal/secreterror")
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && first == "" && isWrite(call) {
				first = fmt.Sprint(filepath.Base(name), ":", set.Position(call.Pos()).Line)
			}
			return true
		})
	}
	if client {
		at = first
	}
	return at, quotes
}

// isWrite reports whether a call is one of a Kubernetes client that writes an object.
func isWrite(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch f.Sel.Name {
	case "Post", "Put":
		return len(call.Args) == 0
	case "Create", "Update", "Patch", "Apply":
	default:
		return false
	}
	if len(call.Args) < 2 {
		return false
	}
	if request, ok := call.Args[1].(*ast.CallExpr); ok { // of the hub's API
		if made, ok := request.Fun.(*ast.SelectorExpr); ok && made.Sel.Name == "NewRequest" {
			return false
		}
	}
	return true
}
