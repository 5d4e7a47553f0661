package hub_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// matrix is a request that declares the compatibility matrix of edge-proxy.
func matrix(versions ...string) string {
	return fmt.Sprintf(`{"name": "edge-proxy", "settings": {"releaseUrl": "https://git.example.test/releases", "versions": [%s]}}`, strings.Join(versions, ","))
}

func TestMatricesAreStored(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		const one, two = `{"version": "1.4.0", "kube": ["1.36", "1.35", "1.36"]}`, `{"version": "v1.5.0", "chartVersion": "3.2.0", "kube": ["1.36"], "summary": {"breakingChanges": ["the port is 8443"]}}`
		for i, want := range []string{"created", "unchanged", "updated"} {
			request := matrix(one, two)
			if i == 2 {
				request = matrix(two, one)
			}
			if got := b.must("CustomCompatibilityMatrices/Apply", request)["result"]; got != want {
				t.Errorf("declaration %d: %v, want %s", i, got, want)
			}
		}
		have := b.ok("reader", "CustomCompatibilityMatrices/Get", `{"name": "edge-proxy"}`)["settings"]
		const want = "map[releaseUrl:https://git.example.test/releases versions:[map[chartVersion:3.2.0 kube:[1.36] summary:map[breakingChanges:[the port is 8443]] version:v1.5.0] map[kube:[1.35 1.36] version:1.4.0]]]"
		if got := fmt.Sprint(have); got != want {
			t.Errorf("a reader reads %s", got)
		}
		b.refused("reader", "CustomCompatibilityMatrices/Apply", matrix(one), http.StatusForbidden, "administrator")
		b.refused("reader", "CustomCompatibilityMatrices/Delete", `{"name": "edge-proxy"}`, http.StatusForbidden, "administrator")
	})
}

// Errors have the path of the field, as it is in a manifest.
func TestMatricesKeepTheRulesOfTheirFields(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		const good = `{"version": "1.4.0", "kube": ["1.35"]}`
		for want, request := range map[string]string{
			`versions[1].version: "latest" is not valid; use a version such as 1.14.0`:        matrix(good, `{"version": "latest", "kube": ["1.35"]}`),
			`versions[1].chartVersion: "3.x" is not valid`:                                    matrix(good, `{"version": "1.5.0", "chartVersion": "3.x", "kube": ["1.35"]}`),
			`versions[0].kube: "1.35.2" is not valid; use a minor version of Kubernetes such`: matrix(`{"version": "1.4.0", "kube": ["1.35.2"]}`),
			"versions[1].version: is missing":                                                 matrix(good, `{"kube": ["1.35"]}`),
			"versions[0].kube: is missing":                                                    matrix(`{"version": "1.4.0"}`),
			"versions[1].version: 1.4.0 is in versions[0] already":                            matrix(good, good),
			"versions: it has 501 values; at most 500 are allowed":                            matrix(strings.Split(strings.Repeat(good+"|", 501), "|")[:501]...),
			"versions[0].summary.helmChanges: it has 51 values":                               matrix(`{"version": "1.4.0", "kube": ["1.35"], "summary": {"helmChanges": ["a"` + strings.Repeat(`, "a"`, 50) + `]}}`),
			"its settings have": matrix(`{"version": "1.4.0", "kube": ["1.35"], "summary": {"helmChanges": ["` + strings.Repeat("a", 300<<10) + `"]}}`),
			"releaseUrl: ":      strings.Replace(matrix(good), "https://", "javascript://", 1),
			"name: ":            strings.Replace(matrix(good), "edge-proxy", "Edge_Proxy", 1),
		} {
			b.refused("admin", "CustomCompatibilityMatrices/Apply", request, http.StatusBadRequest, want)
		}
	})
}
