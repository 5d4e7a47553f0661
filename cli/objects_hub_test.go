package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/axle-cd/axle/api/object"
)

// Every kind in the hub's table of objects is declared by flags and by manifests, shown,
// exported and deleted.
func TestDescribedObjects(t *testing.T) {
	s := newShell(t)
	s.exits(1, "repos add fleet https://git.test/fleet.git", "is registered")
	s.exits(0, "clusters create edge-1")
	for _, k := range object.Stored() {
		var settings map[string]any
		if err := json.Unmarshal([]byte(k.Storage.Example), &settings); err != nil {
			t.Fatal(err)
		}
		group := "axle-cd.github.io"
		if k.Manifest != nil {
			group = "deployments.plural.sh"
		}
		manifest := map[string]any{"apiVersion": group + "/v1alpha1", "kind": k.Name, "metadata": map[string]any{"name": "one"}, "spec": settings}
		text, err := json.Marshal(manifest)
		if err != nil {
			t.Fatal(err)
		}
		file := s.write("one.yaml", string(text))
		s.exits(0, "apply -f "+file+" --dry-run", "one", "creat")
		s.exits(4, k.Noun+" get one", "axle "+k.Noun+" list shows the existing ones")
		s.exits(0, "apply -f "+file, "one", "created")
		s.exits(0, "apply -f "+file, "one", "unchanged")
		s.exits(0, "diff -f "+file)
		exported := s.write("exported.yaml", s.exits(0, "get "+k.Name+" one -o yaml", "kind: "+k.Name))
		s.exits(0, "diff -f "+exported)
		s.exits(0, k.Noun+" list -o json", `"name": "one"`)
		s.exits(0, k.Noun+" list -o wide", "one", "MANAGED BY")
		s.exits(0, k.Noun+" get one", "one", "Managed by")
		s.exits(0, k.Noun+" --help", k.Storage.Effect)
		s.exits(0, k.Noun+" delete one --take-over", k.Storage.Called+" one deleted")
	}
}

// Fields without a flag stay as they are, and a dry run stores nothing.
func TestADescribedObjectIsChangedByFlags(t *testing.T) {
	s := newShell(t)
	s.exits(1, "repos add fleet https://git.test/fleet.git", "is registered")
	const apply = "clusters templates apply eks "
	s.exits(2, apply+"--nothing x")
	s.exits(1, apply+"--repository fleet", "ref: is missing")
	s.exits(0, apply+"--repository fleet --ref v1 --folder a/b --kinds Cluster.cluster.x-k8s.io,ConfigMap", "cluster template eks created")
	s.exits(0, apply+"--ref v2 --dry-run", "updated (dry run, nothing stored)")
	s.exits(0, apply+"--ref v3", "cluster template eks updated", "a/b", "Cluster.cluster.x-k8s.io, ConfigMap")
	s.exits(0, "clusters templates get eks", "v3")
	s.exits(6, "repos delete fleet", "ClusterTemplate eks")
}

// A secret comes from a file or from a Secret beside the object, and is not shown.
func TestAnApplicationTakesASecretOver(t *testing.T) {
	s := newShell(t)
	const secret = "a secret of the former provider"
	file := s.write("secret.txt", secret+"\n")
	s.exits(1, "applications apply wiki --project default --client-id wiki --client-secret-file "+s.write("short.txt", "short"), "clientSecret: has 5 characters")
	s.exits(0, "applications apply wiki --project default --second-factor --client-id wiki --client-secret-file "+file, "application wiki created")
	manifest := func(secret string) string {
		return s.write("wiki.yaml", `apiVersion: v1
kind: Secret
metadata: {name: dex, namespace: platform}
stringData: {secret: `+secret+`}
---
apiVersion: axle-cd.github.io/v1alpha1
kind: Application
metadata: {name: wiki, namespace: platform}
spec: {project: default, secondFactor: true, clientId: wiki, clientSecretRef: {name: dex, key: secret}}
`)
	}
	s.exits(1, "apply --take-over -f "+manifest("short"), "clientSecret: has 5 characters")
	s.exits(0, "apply --take-over -f "+manifest(secret), "wiki")
	for _, line := range []string{"applications get wiki -o yaml", "applications client wiki -o yaml", "get Application wiki -o yaml"} {
		if out := s.exits(0, line, "wiki"); strings.Contains(out, "former provider") {
			t.Errorf("axle %s shows the secret: %s", line, out)
		}
	}
	s.exits(0, "applications rotate wiki --overlap 2h", "ends at")
	s.exits(6, "applications rotate wiki", "still valid")
	s.exits(0, "applications rotate wiki --now")
}
