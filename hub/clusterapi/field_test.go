package clusterapi_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/clusterapi"
	"github.com/axle-cd/axle/internal/errcode"
)

// These are reports about tools that make clusters; test/field/clusters has them all. What Cluster
// API's webhooks refuse on the management cluster, once the cluster is in the hub, is refused
// before, by the name of the variable.
func TestWhatClusterAPIRefusesIsRefusedBefore(t *testing.T) {
	template, err := clusterapi.Read(folder(nil), allowed)
	if err != nil {
		t.Fatal(err)
	}
	pools := func(all string) clusterapi.Wish {
		return clusterapi.Wish{Name: "a", Variables: `{"region": "eu", "nodePools": ` + all + `}`}
	}
	for want, w := range map[string]clusterapi.Wish{
		"name: ":         {Name: strings.Repeat("a", 41), Variables: `{"region": "eu"}`},
		"variables.note": {Name: "a", Variables: `{"region": "eu", "note": null}`},
		"variables.nodePools.1.name: another node pool is called second": pools(`[{"name": "second"}, {"name": "second"}]`),
		`variables.nodePools.0.name: "" is not`:                          pools(`[{"name": ""}]`),
		`variables.nodePools.0.name: "aaaa`:                              pools(`[{"name": "` + strings.Repeat("a", 64) + `"}]`),
		`variables.nodePools.0.name: "Workers_1" is not`:                 pools(`[{"name": "Workers_1"}]`),
		"variables.nodePools.1.count: is less than 0":                    pools(`[{"name": "a"}, {"name": "b", "count": -1}]`),
	} {
		made, err := template.Compose(t.Context(), w)
		if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s; it makes %s", err, want, made.Files["cluster.yaml"])
		}
	}
	// No pool, and a pool of none, are clusters.
	for all, want := range map[string]string{`[]`: `"version":"v1.37.0"}`, `[{"name": "a", "count": 0}]`: `"name":"a","replicas":0`} {
		made, err := template.Compose(t.Context(), pools(all))
		if err != nil || !strings.Contains(made.Files["cluster.yaml"], want) {
			t.Errorf("%s: %v %s", all, err, made.Files["cluster.yaml"])
		}
	}
	for _, name := range []string{"builtin", "note.size"} {
		files := folder(nil)
		files["class/class.yaml"] = strings.Replace(files["class/class.yaml"], "name: note", "name: "+name, 1)
		files["schema.json"] = strings.Replace(files["schema.json"], `"note"`, `"`+name+`"`, 1)
		if _, err := clusterapi.Read(files, allowed); !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), "is no name that Cluster API takes") {
			t.Errorf("a variable %s: %v", name, err)
		}
	}
	for _, path := range []string{"replace /spec/template/spec/list/0", "replace /spec/template/spec/list/0/size", "remove /spec/template/spec/list/3", "add /spec/template/spec/list/1/size", "add /spec/template/spec/list/0/size", "add /spec/template/spec/list/-"} {
		op, pointer, _ := strings.Cut(path, " ")
		files := folder(nil)
		at := regexp.MustCompile(`op: \w+, path: [^,}]+`)
		if !at.MatchString(files["class/class.yaml"]) {
			t.Fatalf("the class has no patch: %s", files["class/class.yaml"])
		}
		files["class/class.yaml"] = at.ReplaceAllString(files["class/class.yaml"], "op: "+op+", path: "+pointer)
		_, err := clusterapi.Read(files, allowed)
		if taken := path == "add /spec/template/spec/list/0/size" || strings.HasSuffix(path, "-"); taken != (err == nil) || err != nil && !strings.Contains(err.Error(), "within a list, Cluster API takes an add") {
			t.Errorf("a patch with %s: %v", path, err)
		}
	}
}
