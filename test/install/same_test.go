package install_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/deploy"
	"github.com/axle-cd/axle/hub/manifests"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/kubeapply"
)

// byName reads the objects of a text.
func byName(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	list, err := kubeapply.Documents([]byte(text))
	must(t, err)
	objects := map[string]map[string]any{}
	for _, object := range list {
		objects[object.GetKind()+" "+object.GetName()] = object.Object
	}
	return objects
}

// The chart of the agent gives the objects that the hub gives: all but the namespace,
// which is Helm's, and the definitions, which no chart has.
func TestAgentChartGivesTheHubsObjects(t *testing.T) {
	const hub, token = "https://axle.example.test", "tok"
	for name, c := range map[string]struct {
		agent manifests.Agent
		sets  string
	}{
		"plain":           {manifests.Agent{Namespace: "axle-system"}, ""},
		"elsewhere":       {manifests.Agent{Namespace: "tools", PollInterval: "1m", Args: []string{"--log-level=debug"}}, "pollInterval=1m,args={--log-level=debug}"},
		"own authority":   {manifests.Agent{Namespace: "axle-system", CAPEM: "pem"}, "caPem=pem"},
		"least privilege": {manifests.Agent{Namespace: "axle-system", LeastPrivilege: true}, "leastPrivilege=true"},
		"without admins":  {manifests.Agent{Namespace: "axle-system", WithoutAdmins: true}, "withoutAdmins=true"},
		"without access":  {manifests.Agent{Namespace: "axle-system", WithoutAccess: true}, "withoutAccess=true"},
		"without people":  {manifests.Agent{Namespace: "axle-system", WithoutPeople: true, LeastPrivilege: true}, "withoutPeople=true,leastPrivilege=true"},
	} {
		t.Run(name, func(t *testing.T) {
			c.agent.HubURL, c.agent.BootstrapToken, c.agent.Image, c.agent.Version = hub, token, manifests.AgentImage+":"+buildinfo.Version, buildinfo.Version
			text, err := c.agent.Manifests(deploy.Agent)
			must(t, err)
			want := byName(t, string(text))
			for key, object := range want {
				if strings.HasPrefix(key, "Namespace ") || object["kind"] == "CustomResourceDefinition" {
					delete(want, key)
				}
			}
			args := []string{"template", "axle-agent", "../../deploy/charts/axle-agent", "--namespace", c.agent.Namespace, "--set", "hubUrl=" + hub + ",token=" + token}
			if c.sets != "" {
				args = append(args, "--set", c.sets)
			}
			out, err := exec.CommandContext(t.Context(), helmProgram(t), args...).Output()
			must(t, err)
			if diff := cmp.Diff(want, byName(t, string(out))); diff != "" {
				t.Errorf("hub and chart differ:\n%s", diff)
			}
			if len(want) < 4 {
				t.Errorf("only %d objects were compared", len(want))
			}
		})
	}
}

// The chart grants the operator what deploy/operator/rbac.yaml grants it.
func TestChartGrantsTheOperatorsRights(t *testing.T) {
	text, err := os.ReadFile("../../deploy/operator/rbac.yaml")
	must(t, err)
	want, have := byName(t, string(text)), byName(t, renderedFile(t, examples+"/small.yaml"))
	compared := 0
	for key, object := range want {
		if rules, found, _ := unstructured.NestedSlice(object, "rules"); found {
			compared++
			given, _, _ := unstructured.NestedSlice(have[key], "rules")
			if diff := cmp.Diff(rules, given); diff != "" {
				t.Errorf("%s: deploy/operator/rbac.yaml and the chart differ:\n%s", key, diff)
			}
		}
	}
	if compared < 5 {
		t.Errorf("only %d roles were compared", compared)
	}
}

// The chart holds copies of the alert rules and the dashboards, because it can read only
// its own files.
func TestChartHasTheAlertRules(t *testing.T) {
	want, err := os.ReadFile("../../deploy/alerts/axle.rules.yaml")
	must(t, err)
	have, err := os.ReadFile("../../deploy/charts/axle/files/axle.rules.yaml")
	must(t, err)
	if string(want) != string(have) {
		t.Error("run: cp deploy/alerts/axle.rules.yaml deploy/charts/axle/files/")
	}
	files, err := filepath.Glob("../../deploy/dashboards/*.json")
	must(t, err)
	values := filepath.Join(t.TempDir(), "values.yaml")
	must(t, os.WriteFile(values, []byte("url: https://hub.example.org\nmonitoring: {rules: true, dashboards: {enabled: true, console: true}}\n"), 0o600))
	rendered := byName(t, renderedFile(t, values))
	for _, file := range files {
		want, err := os.ReadFile(file)
		must(t, err)
		name := filepath.Base(file)
		object := rendered["ConfigMap axle-dashboard-"+strings.TrimSuffix(name, ".json")]
		if have, _, _ := unstructured.NestedString(object, "data", "axle-"+name); have != string(want) {
			t.Errorf("%s is not in the chart: run: cp deploy/dashboards/*.json deploy/charts/axle/files/dashboards/", name)
		}
		if label, _, _ := unstructured.NestedString(object, "metadata", "labels", "grafana_dashboard"); label != "1" {
			t.Errorf("%s has no label of Grafana's sidecar", name)
		}
	}
	own, err := os.ReadFile("../../deploy/dashboards/axle-hub.yaml")
	must(t, err)
	var dashboard map[string]any
	must(t, yaml.Unmarshal(own, &dashboard))
	if differ := cmp.Diff(dashboard["spec"], rendered["Dashboard axle-hub"]["spec"]); differ != "" {
		t.Errorf("run: cp deploy/dashboards/axle-hub.yaml deploy/charts/axle/files/dashboards/; in the chart: %s", differ)
	}
	rules, err := yaml.Marshal(rendered["PrometheusRule axle"])
	must(t, err)
	if !strings.Contains(string(rules), "https://hub.example.org/docs/runbooks/axle-hub-absent/") || strings.Contains(string(rules), "axle.example.com") || len(files) < 4 {
		t.Errorf("%d dashboards, or runbooks of another hub: %.2000s", len(files), rules)
	}
}

// docs/install/values.md is made of the schemas and the default values; -update
// writes it. A value without a description, or without a default, fails.
func TestValuesPage(t *testing.T) {
	const page = "../../docs/install/values.md"
	var text strings.Builder
	text.WriteString("# Values of the charts\n\nThe charts refuse a value that is not listed here. Values that contradict each other are refused with the value\nto set. This page is made of `values.schema.json` and `values.yaml` of each chart.\n")
	for _, chart := range []string{"axle", "axle-agent"} {
		dir := filepath.Join("../../deploy/charts", chart)
		var schema, values map[string]any
		for file, into := range map[string]*map[string]any{"values.schema.json": &schema, "values.yaml": &values} {
			data, err := os.ReadFile(filepath.Join(dir, file))
			must(t, err)
			must(t, yaml.Unmarshal(data, into))
		}
		text.WriteString("\n## " + chart + "\n\n| value | default | what it is |\n|---|---|---|\n")
		describe(t, &text, "", schema, values)
	}
	if *update {
		must(t, os.MkdirAll(filepath.Dir(page), 0o755))
		must(t, os.WriteFile(page, []byte(text.String()), 0o600))
		return
	}
	have, err := os.ReadFile(page)
	must(t, err)
	if string(have) != text.String() {
		t.Errorf("%s differs from the charts: run go test ./test/install -run TestValuesPage -update", page)
	}
}

// describe writes a row for each value of a schema, in its order.
func describe(t *testing.T, text *strings.Builder, prefix string, schema, values map[string]any) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(map[string]any)
		value, there := values[name]
		if !there {
			t.Errorf("%s%s has no default in values.yaml", prefix, name)
		}
		what, _ := property["description"].(string)
		if what == "" {
			t.Errorf("%s%s has no description", prefix, name)
		}
		if below, ok := property["properties"].(map[string]any); ok && len(below) > 0 {
			inner, _ := value.(map[string]any)
			describe(t, text, prefix+name+".", property, inner)
			continue
		}
		if words, ok := property["enum"].([]any); ok {
			var all []string
			for _, word := range words {
				if word != "" {
					all = append(all, "`"+word.(string)+"`")
				}
			}
			what += " One of " + strings.Join(all, ", ") + "."
		}
		shown, err := yaml.Marshal(value)
		must(t, err)
		one := strings.TrimSpace(string(shown))
		if strings.Contains(one, "\n") {
			one = "see `values.yaml`"
		} else {
			one = "`" + one + "`"
		}
		text.WriteString("| `" + prefix + name + "` | " + one + " | " + strings.ReplaceAll(what, "|", "\\|") + " |\n")
	}
	for name := range values {
		if _, known := properties[name]; !known && len(properties) > 0 {
			t.Errorf("%s%s is in values.yaml and not in the schema", prefix, name)
		}
	}
}
