package clusterapi_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/clusterapi"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/manifest"
)

var allowed = []string{"Cluster.cluster.x-k8s.io", "ClusterClass.cluster.x-k8s.io", "PlayClusterTemplate.infrastructure.cluster.x-k8s.io", "PlayControlPlaneTemplate.controlplane.cluster.x-k8s.io"}

// folder is the folder of a good template, with changed files; an empty one is left out.
func folder(changed map[string]string) map[string]string {
	files := map[string]string{
		"template.yaml": `name: play
description: clusters that are only played
provider: {name: play, identity: PlayIdentity/default, roles: [player]}
checks:
- {name: pools, when: before, expression: "variables.nodePools.all(p, int(p.count) < 9)", message: A pool has at most 8 machines.}
- {name: up, when: after, expression: "has(status.conditions)", message: It is not up.}
`,
		"schema.json": `{"type": "object", "required": ["region"], "properties": {
			"region": {"type": "string", "enum": ["eu", "us", "1.30"]}, "note": {"type": "string"}, "replicas": {"type": "integer", "minimum": 1, "default": 3},
			"version": {"type": "string", "default": "v1.37.0"},
			"nodePools": {"type": "array", "default": [{"name": "first"}], "items": {"type": "object", "properties": {
				"name": {"type": "string"}, "count": {"type": "integer", "default": 2}, "disk": {"type": "integer", "default": 80}}}}}}`,
		"README.md": "# Play\n",
		"class/class.yaml": `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: play}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1, kind: PlayClusterTemplate, name: play}}
  controlPlane: {templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1alpha1, kind: PlayControlPlaneTemplate, name: play}}
  workers: {machineDeployments: [{class: workers}]}
  variables:
  - {name: region, required: true, schema: {openAPIV3Schema: {type: string}}}
  - {name: note, schema: {openAPIV3Schema: {type: string}}}
  - {name: replicas, schema: {openAPIV3Schema: {type: integer}}}
  - {name: disk, required: true, schema: {openAPIV3Schema: {type: integer}}}
  patches:
  - name: region
    definitions: [{jsonPatches: [{op: add, path: /spec/template/spec/region, valueFrom: {variable: region}}]}]
`,
		"class/templates.yaml": `apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: PlayClusterTemplate
metadata: {name: play}
spec: {template: {spec: {size: 12345678901234567890}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1alpha1
kind: PlayControlPlaneTemplate
metadata: {name: play}
spec: {template: {spec: {}}}
`,
	}
	maps.Copy(files, changed)
	maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
	return files
}

func TestAFolderThatIsWrongIsRefusedByFileAndField(t *testing.T) {
	good := folder(nil)
	edit := func(file, before, after string) map[string]string {
		if !strings.Contains(good[file], before) {
			t.Fatalf("%s has no %q", file, before)
		}
		return map[string]string{file: strings.Replace(good[file], before, after, 1)}
	}
	more := func(text string) map[string]string { return map[string]string{"class/more.yaml": text} }
	for want, changed := range map[string]map[string]string{
		"template.yaml: is missing":                                    {"template.yaml": ""},
		"schema.json: is missing":                                      {"schema.json": ""},
		`template.yaml: unknown field "nam"`:                           edit("template.yaml", "name:", "nam:"),
		"template.yaml: name: ":                                        edit("template.yaml", "play", "P_LAY"),
		`template.yaml: unknown field "topology"`:                      edit("template.yaml", "provider:", "topology: {}\nprovider:"),
		"template.yaml: checks: pools: ERROR":                          edit("template.yaml", "variables.nodePools.all", "variables.nodePools.al"),
		`template.yaml: checks: pools is for the moment "soon"`:        edit("template.yaml", "before", "soon"),
		"template.yaml: checks: those for after have 20 KiB; at most":  edit("template.yaml", "It is not up.", strings.Repeat("x", 20<<10)),
		"template.yaml: checks: each check has a name and a message":   edit("template.yaml", "message: It is not up.", "message: ''"),
		"spec.patches: region has valueFrom.template":                  edit("class/class.yaml", "{variable: region}", "{template: '{{ .region }}'}"),
		"spec.patches: region has enabledIf":                           edit("class/class.yaml", "- name: region\n", "- name: region\n    enabledIf: 'true'\n"),
		`schema.json: properties: variable "version" is missing`:       edit("schema.json", `"version"`, `"podCIDRs"`),
		`class/class.yaml: spec.variables: property of nodePools "gpu`: edit("schema.json", `"count"`, `"gpus"`),
		`schema.json: properties: variable "disk" is required`:         edit("schema.json", `"disk"`, `"minSize"`),
		"schema.json: is not JSON":                                     edit("schema.json", "}", ""),
		"schema.json: type: is not object":                             edit("schema.json", `"object"`, `"array"`),
		"https://evil.test/s.json is not in the file":                  edit("schema.json", `{"type": "string"}`, `{"$ref": "https://evil.test/s.json"}`),
		"file:///etc/passwd is not in the file":                        edit("schema.json", `{"type": "string"}`, `{"$ref": "file:///etc/passwd"}`),
		`schema.json: properties: variable "region" is required`:       {"schema.json": `{"type": "object"}`},
		`class/class.yaml: spec.variables: variable "size" of`:         edit("schema.json", `"note"`, `"size"`),
		"schema.json: has 64 KiB; at most":                             {"schema.json": good["schema.json"] + strings.Repeat(" ", 64<<10)},
		"README.md: is too large":                                      {"README.md": strings.Repeat("x", 257<<10)},
		"class: has no ClusterClass":                                   {"class/class.yaml": ""},
		"there is another ClusterClass.cluster.x-k8s.io play":          more(good["class/class.yaml"]),
		"class/more.yaml: kind: there is another ClusterClass in":      more(strings.Replace(good["class/class.yaml"], "{name: play}", "{name: other}", 1)),
		"class/class.yaml: apiVersion: ":                               edit("class/class.yaml", "v1beta2", "v1beta1"),
		"class/class.yaml: spec.infrastructure.templateRef: Cluster":   edit("class/class.yaml", "name: play}}\n  controlPlane", "name: other}}\n  controlPlane"),
		"class/more.yaml: kind: Cluster.cluster.x-k8s.io is what the":  more("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: a}\n"),
		"class/more.yaml: kind: Role.rbac.authorization.k8s.io is not": more("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\n"),
		"class/more.yaml: kind: a template has no Secrets":             more("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"),
		"class/more.yaml: metadata.namespace: ":                        more("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: kube-system}\n"),
		"class/more.yaml: metadata.ownerReferences: ":                  more("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, ownerReferences: []}\n"),
		"class/more.yaml: metadata.name: ":                             more("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + strings.Repeat("a", 53) + "}\n"),
		"class/more.yaml: metadata.annotations: ConfigMap a has argo":  more("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {argocd.argoproj.io/hook: PreSync}}\n"),
		"class/more.yaml: status: ":                                    more("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nstatus: {}\n"),
		"refers to itself": edit("class/templates.yaml", "size: 12345678901234567890",
			"{size: 1}, self: {apiVersion: cluster.x-k8s.io/v1beta2, kind: ClusterClass, name: play}"),
	} {
		if want == "refers to itself" {
			changed["class/templates.yaml"] = strings.Replace(changed["class/templates.yaml"], "{spec: {{size: 1}, self:", "{spec: {self:", 1)
		}
		_, err := clusterapi.Read(folder(changed), allowed)
		if !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := clusterapi.Read(good, allowed[1:]); err == nil || !strings.Contains(err.Error(), "template.yaml: kinds: Cluster.cluster.x-k8s.io is not among") {
		t.Errorf("a template that may make no Cluster: %v", err)
	}
}

// composed are the objects of a cluster of a folder, by kind.
func composed(t *testing.T, files map[string]string, w clusterapi.Wish) map[string]*manifest.Object {
	t.Helper()
	template, err := clusterapi.Read(files, allowed)
	if err != nil {
		t.Fatal(err)
	}
	made, err := template.Compose(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*manifest.Object{}
	for name, text := range made.Files {
		objects, warnings, err := manifest.Decode(name, []byte(text))
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%s: %v %v", name, err, warnings)
		}
		for _, o := range objects {
			all[o.Key("").Kind] = &o
		}
	}
	return all
}

func TestObjectsAreNamedByTheirContent(t *testing.T) {
	wish := clusterapi.Wish{Name: "edge-1", Variables: `{"region": "eu"}`}
	names := func(files map[string]string) (class, infrastructure, plane string) {
		all := composed(t, files, wish)
		class, infrastructure, plane = all["ClusterClass"].Key("").Name, all["PlayClusterTemplate"].Key("").Name, all["PlayControlPlaneTemplate"].Key("").Name
		spec := all["ClusterClass"].Data["spec"].(map[string]any)
		for field, want := range map[string]string{"infrastructure": infrastructure, "controlPlane": plane} {
			if got := spec[field].(map[string]any)["templateRef"].(map[string]any)["name"]; got != want {
				t.Errorf("the class refers to %v, want %s", got, want)
			}
		}
		if got := all["Cluster"].Data["spec"].(map[string]any)["topology"].(map[string]any)["classRef"].(map[string]any)["name"]; got != class {
			t.Errorf("the cluster has the class %v, want %s", got, class)
		}
		for _, name := range []string{class, infrastructure, plane} {
			if !regexp.MustCompile(`^play-[0-9a-f]{10}$`).MatchString(name) {
				t.Errorf("an object is called %s", name)
			}
		}
		return class, infrastructure, plane
	}
	class, infrastructure, plane := names(folder(nil))
	if c, i, p := names(folder(map[string]string{"README.md": "other"})); c != class || i != infrastructure || p != plane {
		t.Error("a change of the README gives other names")
	}
	moved := map[string]string{"class/templates.yaml": strings.Replace(folder(nil)["class/templates.yaml"], "12345678901234567890", "12345678901234567891", 1)}
	if c, i, p := names(folder(moved)); c == class || i == infrastructure || p != plane {
		t.Errorf("after a change of one template: class %s → %s, infrastructure %s → %s, control plane %s → %s", class, c, infrastructure, i, plane, p)
	}
}

func TestVariablesAreValues(t *testing.T) {
	hostile := "{{ cluster.name }}{% raw %}\n---\nkind: Secret\n$(reboot) `id` \"'<&>\u2028"
	topology := composed(t, folder(nil), clusterapi.Wish{Name: "edge-1", Texts: map[string]string{"version": "v1.36.1", "region": "1.30", "note": hostile, "replicas": "5"}})["Cluster"].Data["spec"].(map[string]any)["topology"].(map[string]any)
	if topology["version"] != "v1.36.1" {
		t.Errorf("version %v", topology["version"])
	}
	for _, v := range topology["variables"].([]any) {
		one := v.(map[string]any)
		switch value := one["value"]; one["name"] {
		case "note":
			if value != hostile {
				t.Errorf("the note is %q", value)
			}
		case "region":
			if value != "1.30" {
				t.Errorf("the region is %#v", value)
			}
		case "replicas":
			if _, text := value.(string); text || value == nil {
				t.Errorf("the replicas are %#v", value)
			}
		}
	}
}

func TestAWishThatTheTemplateDoesNotTake(t *testing.T) {
	template, err := clusterapi.Read(folder(nil), allowed)
	if err != nil {
		t.Fatal(err)
	}
	for want, w := range map[string]clusterapi.Wish{
		"name: ":                             {Name: "Edge", Variables: `{"region": "eu"}`},
		"name: \"" + strings.Repeat("a", 41): {Name: strings.Repeat("a", 41), Variables: `{"region": "eu"}`},
		"variables.version: \"1.37\"":        {Name: "a", Variables: `{"region": "eu", "version": "1.37"}`},
		"variables: A pool has at most 8 machines. (check pools of the template)":   {Name: "a", Variables: `{"region": "eu", "nodePools": [{"name": "a"}, {"name": "b", "count": 9}]}`},
		"variables.reigon: is not a variable of the template; did you mean region?": {Name: "a", Texts: map[string]string{"reigon": "eu"}},
		"variables.region: value must be one of":                                    {Name: "a", Variables: `{"region": "mars"}`},
		"variables: missing property 'region'":                                      {Name: "a"},
		"variables.replicas: ":                                                      {Name: "a", Variables: `{"region": "eu", "replicas": 0}`},
		"variables.replicas: \"many\" is not JSON":                                  {Name: "a", Texts: map[string]string{"region": "eu", "replicas": "many"}},
		"variables.region: is given twice":                                          {Name: "a", Variables: `{"region": "eu"}`, Texts: map[string]string{"region": "us"}},
		"variables.nodePools.1.class: is not a property of node pools of the template; the template has count, disk, name": {Name: "a", Variables: `{"region": "eu", "nodePools": [{}, {"class": "large"}]}`},
		"variables.nodePools.0.labels: is not a property":                                                                  {Name: "a", Texts: map[string]string{"region": "eu", "nodePools": `[{"labels": {"cluster.x-k8s.io/cluster-name": "other"}}]`}},
		"variables.topology: is not a variable of the template":                                                            {Name: "a", Variables: `{"region": "eu", "topology": {"class": "other", "classRef": {"name": "other"}}}`},
		"variables.labels: is not a variable of the template":                                                              {Name: "a", Variables: `{"region": "eu", "labels": {"team": "root"}}`},
		"variables: is not a JSON object":                                                                                  {Name: "a", Variables: `[]`},
		"variables: have 65 KiB":                                                                                           {Name: "a", Variables: `{"region": "eu", "note": "` + strings.Repeat("x", 65<<10) + `"}`},
	} {
		if _, err := template.Compose(t.Context(), w); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// ours reads the folder of one of our templates.
func ours(t *testing.T, at string) clusterapi.Template {
	t.Helper()
	files := map[string]string{}
	if err := fs.WalkDir(os.DirFS(at), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(at), name)
		files[name] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var about struct {
		Kinds []string `json:"kinds"`
	}
	if err := yaml.Unmarshal([]byte(files["template.yaml"]), &about); err != nil {
		t.Fatal(err)
	}
	template, err := clusterapi.Read(files, about.Kinds)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	return template
}

// Each mistake is named where it is, so that a form shows it beside its field.
func TestMistakesAreNamedWhereTheyAre(t *testing.T) {
	template := ours(t, "../../deploy/clusters/eks")
	good := `"region": "eu-central-1", "version": "v1.34.0", "ebsCsiVersion": "v1.48.0-eksbuild.1"`
	for variables, want := range map[string]string{
		`"nodePools": [{"name": "a"}, {"name": "b", "labels": {"team": "shop"}}]`: `variables.nodePools.1.labels: invalid propertyName 'team': 'team' does not match pattern`,
		`"nodePools": [{"name": "A"}]`:                                            `variables.nodePools.0.name: 'A' does not match pattern`,
		`"nodePools": [{}]`:                                                       `variables.nodePools.0: missing property 'name'`,
		`"tags": {"aws:owner": "a"}`:                                              `variables.tags: invalid propertyName 'aws:owner'`,
	} {
		_, err := template.Compose(t.Context(), clusterapi.Wish{Name: "a", Variables: "{" + good + ", " + variables + "}"})
		if !errcode.Is(err, errcode.Invalid) || !strings.HasPrefix(errcode.Message(err), want) || strings.Contains(err.Error(), "; ") {
			t.Errorf("%s: %v, want only %s", variables, err, want)
		}
	}
}

func TestPoolsAndVersionAreFieldsOfTheCluster(t *testing.T) {
	spec := composed(t, folder(nil), clusterapi.Wish{Name: "edge-1", Variables: `{"region": "eu", "nodePools": [{"name": "a"}, {"name": "b", "count": 5, "disk": 20}]}`})["Cluster"].Data["spec"]
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"version":"v1.37.0"`,
		`{"class":"workers","name":"a","replicas":2,"variables":{"overrides":[{"name":"disk","value":80}]}}`,
		`{"class":"workers","name":"b","replicas":5,"variables":{"overrides":[{"name":"disk","value":20}]}}`,
		`"variables":[{"name":"region","value":"eu"},{"name":"replicas","value":3}]`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s has no %s", text, want)
		}
	}
}

// TestTheTemplatesOfThisRepositoryAreTaken reads those that people copy, and makes a cluster
// of each with what a person has to give.
func TestTheTemplatesOfThisRepositoryAreTaken(t *testing.T) {
	for at, variables := range map[string]string{
		"../../deploy/clusters/docker": `{}`,
		"../../deploy/clusters/eks":    `{"region": "eu-central-1", "version": "v1.34.0", "ebsCsiVersion": "v1.48.0-eksbuild.1"}`,
		"../../deploy/clusters/gke":    `{"project": "example-project", "region": "europe-west3", "location": "europe-west3", "version": "v1.34.0", "nodePools": [{"name": "a", "count": 3}]}`,
		"../../deploy/bed":             `{}`,
	} {
		template := ours(t, at)
		made, err := template.Compose(t.Context(), clusterapi.Wish{Name: "shop", Variables: variables})
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		if !strings.Contains(made.Files["cluster.yaml"], `"replicas":`) || !strings.HasPrefix(made.Version, "v1.") {
			t.Errorf("%s: its cluster has the version %q and is %s", at, made.Version, made.Files["cluster.yaml"])
		}
	}
}
