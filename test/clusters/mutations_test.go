package clusters

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

// mutation is an error that somebody makes in a fork.
type mutation struct {
	name, template, file, old, new string
	want                           string // in what is reported
}

var mistakes = []mutation{
	{"a field that is misspelled", "eks", "class/templates.yaml", "instanceMetadataOptions:", "instanceMetadataOption:", "instanceMetadataOption: field not declared in schema"},
	{"a value that is not of an enum", "eks", "class/templates.yaml", "eksLookupType: AmazonLinux2023", "eksLookupType: AmazonLinux2024", "Unsupported value"},
	{"a value of a variable that the provider refuses", "gke", "schema.json", `"pd-standard"`, `"pd-slow"`, "enum is"},
	{"the same in schema and class", "gke", "*", "pd-standard", "pd-slow", "diskType=pd-slow: GCPManagedMachinePoolTemplate"},
	{"a path that leads nowhere", "gke", "class/clusterclass.yaml", "/spec/template/spec/diskSizeGb", "/spec/template/spec/diskSizeGiB", `there is no field "diskSizeGiB"`},
	{"a path without its parent", "eks", "class/templates.yaml", "\n      rootVolume:\n        size: 80\n        type: gp3\n        encrypted: true", "", "/rootVolume/size"},
	{"a patch of a kind that the class does not use", "docker", "class/clusterclass.yaml", "        kind: KubeadmConfigTemplate\n        matchResources", "        kind: KubeadmControlPlaneTemplate\n        matchResources", "selects no template"},
	{"a patch of a class of workers that is gone", "gke", "class/clusterclass.yaml", "names: [autoscaled]", "names: [scaled]", "selects no template"},
	{"a reference that leads nowhere", "docker", "class/clusterclass.yaml", "name: docker-workers", "name: docker-nodes", "which the folder does not have"},
	{"a field of the class that is misspelled", "docker", "class/clusterclass.yaml", "nodeStartupTimeoutSeconds", "nodeStartupTimeout", "nodeStartupTimeout: field not declared in schema"},
	{"a variable that nothing places", "eks", "schema.json", `"vpcCIDR": {`, `"vpcCidr": {`, "nothing is made: the class has no such variable"},
	{"a text template", "eks", "class/clusterclass.yaml", "variable: instanceType", "template: '{{ .instanceType }}'", "text template"},
	{"a kind that is not on the list", "gke", "template.yaml", "- GKEConfigTemplate.bootstrap.cluster.x-k8s.io\n", "", "kinds are"},
	{"a schema that is none", "docker", "schema.json", `"type": "integer"`, `"type": "int"`, "schema.json"},
	{"a reference out of the schema", "docker", "schema.json", `"title": "Cluster of containers"`, `"$ref": "https://example.com/schema.json"`, "$ref"},
	{"a default that the schema refuses", "docker", "schema.json", `"default": "v1.36.4"`, `"default": "v1.30.0"`, "defaults"},
	{"a check that does not compile", "docker", "template.yaml", "int(p.maxSize)", "int(p.maxSize", "check pool-bounds"},
	{"a check that is never met", "eks", "template.yaml", "p.taints.size() == 0", "p.taints.size() == 7", "check place-for-add-ons"},
	{"an object that goes before the cluster", "eks", "class/templates.yaml", "metadata:\n  name: eks\n", "metadata:\n  name: eks\n  annotations: {axle-cd.github.io/sync-wave: \"2\"}\n", "could delete it before the cluster"},
	{"a file that nobody reads", "docker", "class/notes.txt", "", "later", "no file of a template"},
}

// refused are classes that hold the definitions, and that the core's webhooks do not take.
var refused = []mutation{
	{"an element of a list that is replaced", "eks", "class/clusterclass.yaml", "op: add\n        path: /spec/template/spec/addons/0/version", "op: replace\n        path: /spec/template/spec/addons/0/version", "elements in arrays can not be accessed in a replace operation"},
	{"an element of a list that is not the first", "eks", "class/clusterclass.yaml", "addons/0/version", "addons/1/version", "arrays can only be accessed"},
	{"a variable that Cluster API has itself", "gke", "class/clusterclass.yaml", "name: diskType\n", "name: builtin\n", "builtin"},
	{"two variables of one name", "gke", "class/clusterclass.yaml", "- name: diskType\n", "- name: region\n", "must be unique"},
	{"a health check that never ends", "docker", "class/clusterclass.yaml", "nodeStartupTimeoutSeconds: 900", "nodeStartupTimeoutSeconds: 1", "nodeStartupTimeoutSeconds"},
}

// refuses proves that the core has its say.
func refuses(t *testing.T, s *server) {
	for _, m := range refused {
		made, err := read(mutated(t, m))
		if err == nil {
			err = s.accepts(t.Context(), m.name, made.class())
		}
		if err == nil || !strings.Contains(err.Error(), m.want) {
			t.Errorf("%s: %v\nwant: %s", m.name, err, m.want)
		}
	}
}

// mutations proves that the contract notices each of them.
func mutations(t *testing.T, s *server) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			made, err := read(mutated(t, m))
			if err == nil {
				if err = made.static(t.Context()); err == nil || !strings.Contains(err.Error(), m.want) {
					err = s.judge(t.Context(), made)
				}
			}
			if err == nil || !strings.Contains(err.Error(), m.want) {
				t.Errorf("reported: %v\nwant: %s", err, m.want)
			}
		})
	}
}

// mutated is the folder of a template with one mistake.
func mutated(t *testing.T, m mutation) fs.FS {
	t.Helper()
	files, changed := fstest.MapFS{}, false
	source := os.DirFS(path.Join(folder, m.template))
	if err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(source, name)
		if (name == m.file || m.file == "*") && bytes.Contains(text, []byte(m.old)) {
			text, changed = bytes.ReplaceAll(text, []byte(m.old), []byte(m.new)), true
		}
		files[name] = &fstest.MapFile{Data: text}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if m.old == "" {
		files[m.file], changed = &fstest.MapFile{Data: []byte(m.new)}, true
	}
	if !changed {
		t.Fatalf("%s has no %q", m.file, m.old)
	}
	return files
}
