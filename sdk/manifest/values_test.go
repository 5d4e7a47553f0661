package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk/manifest"
)

func readText(t *testing.T, text string) ([]manifest.Item, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return manifest.Read([]string{file}, nil)
}

const sources = `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: first, namespace: infra}
data: {region: us, zone: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second, namespace: other}
data: {zone: b, host: db}
---
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: infra}
stringData: {host: hidden}
`

// The later source wins: configuration, configMapRef, configMapRefs, secretRef.
func TestContextMergesItsSources(t *testing.T) {
	items, err := readText(t, `apiVersion: deployments.plural.sh/v1alpha1
kind: ServiceContext
metadata: {name: shared, namespace: infra}
spec:
  configuration: {region: eu, size: 3, db: {port: 5432}}
  configMapRef: {name: first}
  configMapRefs: [{name: second, namespace: other}, {name: second, namespace: other, scope: db}]
  secretRef: {name: keys}
  projectRef: {name: shop}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: Project
metadata: {name: shop}
spec: {name: shop, description: the shop, bindings: {}}`+sources)
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 2 || items[0].Request.(*hubv1.CreateProjectRequest).GetDescription() != "the shop" || strings.Join(items[0].NotActing, " ") != "" {
		t.Fatalf("items %+v, want the project first", items)
	}
	context := items[1].Request.(*hubv1.CreateContextRequest).GetContext()
	if want := `{"db":{"host":"db","port":5432,"zone":"b"},"region":"us","size":3,"zone":"b"}`; context.GetValues() != want {
		t.Errorf("values %s, want %s", context.GetValues(), want)
	}
	if context.GetProject() != "shop" || len(context.GetSecrets()) != 1 || context.GetSecrets()["host"] != "hidden" {
		t.Errorf("context %v", context)
	}
}

func TestContextOfBadSources(t *testing.T) {
	for spec, says := range map[string]string{
		"configMapRef: {name: none}":  "ConfigMap infra/none is not among the files",
		"secretRef: {name: none}":     "Secret infra/none is not among the files",
		"configuration: [1]":          "spec.configuration is not a JSON object",
		"configuration: null\n  a: 1": `unknown field "spec.a"`,
	} {
		_, err := readText(t, "apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceContext\nmetadata: {name: shared, namespace: infra}\nspec:\n  "+spec+sources)
		if err == nil || !strings.Contains(err.Error(), says) || !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: %v, want %q", spec, err, says)
		}
	}
}
