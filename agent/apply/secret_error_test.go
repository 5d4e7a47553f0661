package apply_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/axle-cd/axle/agent/apply"
)

// TestErrorsQuoteNoSecret: an API server quotes the values of a Secret that it refuses, in
// many spellings. None of it is in a result, nor in a diff.
func TestErrorsQuoteNoSecret(t *testing.T) {
	b := newBed(t, nil)
	const planted = "pl4nted-PASSWORD"
	secret := func(name, rest string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\n" + rest
	}
	for name, tt := range map[string]struct {
		doc, says string
	}{
		"a number":       {"stringData: {key: 4711081547110815}", ".stringData.key: expected string"},
		"a list":         {"stringData: {key: [" + planted + "]}", ".stringData.key: expected string"},
		"an object":      {"stringData: {key: {deep: " + planted + "}}", ".stringData.key: expected string"},
		"data by number": {"data: {key: 4711081547110815}", "key"},
		"not base64":     {"data: {key: '" + planted + "!'}", "illegal base64"},
		"a text as data": {"data: " + planted, ".data: expected map"},
		"a list as data": {"data: [" + planted + "]", ".data: expected map"},
		"unknown field":  {"stringDat: {key: " + planted + "}", ".stringDat: field not declared in schema"},
		"a bad key":      {"stringData: {'a key': " + planted + "}", "must consist of"},
		"a bad type":     {"type: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: '{" + planted + "'}", ".dockerconfigjson"},
		"a bad label":    {"stringData: {key: " + planted + "}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			service := newService("d1")
			doc := secret("s", tt.doc)
			if name == "a bad label" {
				doc = strings.Replace(doc, "{name: s}", "{name: s, labels: {x: '"+planted+" !'}}", 1)
			}
			result := b.pass(service, doc)
			texts := fmt.Sprint(result.Message, result.Problems)
			if result.Sync != apply.SyncFailed {
				t.Fatalf("it was not refused: %+v", result)
			}
			if strings.Contains(texts, planted) || strings.Contains(texts, "47110815") || strings.Contains(texts, "4711081547") {
				t.Errorf("it quotes the value: %s", texts)
			}
			if !strings.Contains(texts, tt.says) {
				t.Errorf("it does not say %q: %s", tt.says, texts)
			}
		})
	}
}
