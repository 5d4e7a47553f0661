package manifests_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/manifests"
)

// files are those that cmd/axle-hub holds.
var files = os.DirFS("../../deploy")

func TestAgentManifestsAreWholeObjects(t *testing.T) {
	out, err := manifests.Agent{Namespace: "axle-system", Image: "r/axle-agent:1", HubURL: "https://hub.example.test", BootstrapToken: "tok", CAPEM: "pem", PollInterval: "10s", Version: "1"}.Manifests(files)
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
	if got := strings.Join(kinds, " "); got != "Namespace ServiceAccount ClusterRoleBinding ClusterRoleBinding ClusterRole ClusterRoleBinding ClusterRoleBinding ClusterRoleBinding Secret Deployment CustomResourceDefinition CustomResourceDefinition CustomResourceDefinition" {
		t.Errorf("kinds: %s", got)
	}
}

func TestLeastPrivilegeNamesNoWildcard(t *testing.T) {
	out, err := manifests.Agent{Namespace: "tools", Image: "r/axle-agent:1", HubURL: "https://hub.example.test", BootstrapToken: "tok", Version: "1", LeastPrivilege: true, WithoutAdmins: true, Args: []string{"--log-level=debug"}}.Manifests(files)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(out), "kind: CustomResourceDefinition")
	for _, unwanted := range []string{"cluster-admin", "\"*\"", "[*]"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("the manifests hold %s", unwanted)
		}
	}
	for _, wanted := range []string{"kind: Role\n", "name: \"tools-agent\"", `"--log-level=debug"`} {
		if !strings.Contains(text, wanted) {
			t.Errorf("the manifests do not hold %s:\n%s", wanted, text)
		}
	}
}

// The package is what an agent applies to upgrade itself, with its values left open.
func TestPackageIsTheDeploymentAlone(t *testing.T) {
	text, err := manifests.Package(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"version", "image", "namespace", "args"} {
		if !strings.Contains(string(text), "{{ configuration."+value+" }}") {
			t.Errorf("%s is not open", value)
		}
	}
	if n := strings.Count(string(text), "\nkind: "); n != 1 || strings.Contains(string(text), "Secret\n") {
		t.Errorf("%d objects:\n%s", n, text)
	}
}

func TestPeopleAndAdministratorsAreChoices(t *testing.T) {
	tests := map[string]struct {
		agent                        manifests.Agent
		admins, impersonates, closed bool
	}{
		"plain":                      {manifests.Agent{}, true, false, false},
		"without administrators":     {manifests.Agent{WithoutAdmins: true}, false, false, false},
		"without access":             {manifests.Agent{WithoutAccess: true}, true, false, false},
		"without people":             {manifests.Agent{WithoutPeople: true}, false, false, true},
		"least":                      {manifests.Agent{LeastPrivilege: true}, true, true, false},
		"least, without people":      {manifests.Agent{LeastPrivilege: true, WithoutPeople: true}, false, false, true},
		"least, without their heads": {manifests.Agent{LeastPrivilege: true, WithoutAdmins: true}, false, true, false},
	}
	for name, test := range tests {
		test.agent.Namespace, test.agent.Image, test.agent.HubURL, test.agent.BootstrapToken = "axle-system", "i:1", "https://hub", "axle_x"
		text, err := test.agent.Manifests(files)
		if err != nil {
			t.Fatal(err)
		}
		has := func(part string) bool { return strings.Contains(string(text), part) }
		if want := !test.agent.WithoutAccess && !test.agent.WithoutPeople; has("axle:cluster:read") != want || has("axle:cluster:write") != want {
			t.Errorf("%s: rights by the hub's rights: %v, want %v", name, !want, want)
		}
		if has("axle:admins") != test.admins || has("[impersonate]") != test.impersonates || has("--proxy=off") != test.closed {
			t.Errorf("%s: administrators %v, impersonates %v, closed %v:\n%s", name, has("axle:admins"), has("[impersonate]"), has("--proxy=off"), text)
		}
	}
}
