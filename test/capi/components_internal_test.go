package capi

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/test/kube"
)

// Every webhook of the core is asked at the address of the process, and none at the Service
// of the pod that it is not; nothing but definitions and webhooks is left.
func TestWebhooksAreAtTheProcess(t *testing.T) {
	t.Parallel()
	built, err := kube.Built(module, "manager", ErrNotBuilt)
	if err != nil {
		t.Fatal(err)
	}
	const address = "https://127.0.0.1:1"
	objects, err := components(filepath.Join(built, "components.yaml"), address, "authority")
	if err != nil {
		t.Fatal(err)
	}
	kinds, webhooks := map[string]int{}, 0
	for _, o := range objects {
		kinds[o.GetKind()]++
		webhooks += clients(t, o.GetName(), o.Object, address)
	}
	if len(kinds) != 3 || kinds[definition] != 13 || webhooks < 30 {
		t.Errorf("%v with %d webhooks", kinds, webhooks)
	}
}

// clients counts the configurations of clients below a value.
func clients(t *testing.T, of string, value any, address string) (count int) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			count += clients(t, of, v, address)
		}
	case map[string]any:
		for name, v := range value {
			if name == "openAPIV3Schema" {
				continue // a kind has a field of this name
			}
			if name != "clientConfig" {
				count += clients(t, of, v, address)
				continue
			}
			config := v.(map[string]any)
			url, _, _ := unstructured.NestedString(config, "url")
			if config["service"] != nil || !strings.HasPrefix(url, address+"/") || config["caBundle"] != "YXV0aG9yaXR5" {
				t.Errorf("%s: %v", of, config)
			}
			count++
		}
	}
	return count
}
