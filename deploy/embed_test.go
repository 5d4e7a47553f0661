package deploy_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/deploy"
)

func TestAgentManifestsAreWholeObjects(t *testing.T) {
	out, err := deploy.Agent{Namespace: "axle-system", Image: "r/axle-agent:1", HubURL: "https://hub.example.test", BootstrapToken: "tok", CAPEM: "pem", PollInterval: "10s", Version: "1"}.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for part := range strings.SplitSeq(string(out), "\n---\n") {
		var object struct {
			Kind     string            `json:"kind"`
			Metadata map[string]any    `json:"metadata"`
			Data     map[string]string `json:"data"`
		}
		if err := yaml.Unmarshal([]byte(part), &object); err != nil {
			t.Fatalf("%v in\n%s", err, part)
		}
		kinds = append(kinds, object.Kind)
		if object.Kind == "Secret" && (object.Data["token"] != "dG9r" || object.Data["ca.pem"] != "cGVt") {
			t.Errorf("secret holds %v", object.Data)
		}
	}
	if got := strings.Join(kinds, " "); got != "Namespace ServiceAccount ClusterRoleBinding Secret Deployment" {
		t.Errorf("kinds: %s", got)
	}
}

func TestCRDsAreEmbedded(t *testing.T) {
	entries, err := deploy.CRDs.ReadDir("crds")
	if err != nil || len(entries) < 3 {
		t.Errorf("%d CRDs, %v", len(entries), err)
	}
}
