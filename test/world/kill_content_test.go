package world_test

import (
	"fmt"
	"slices"
	"strings"
)

// The content of the kill test's services: "app" with 40 objects, and "heir", which
// takes over some of them. {{ configuration.run }} distinguishes the runs, which
// share one API server.

// killSteps are the folders of the two services, step by step.
var killSteps = []struct{ name, app, heir string }{
	{"install", "app-1", "heir-1"},
	{"upgrade", "app-2", "heir-1"},
	{"hand-over", "app-3", "heir-2"},
	{"prune", "app-4", "heir-2"},
}

const runName = "{{ configuration.run }}"

// handedOver are the objects that app gives to heir, and pruned those that no service
// wants in the end.
var (
	handedOver = []string{"ConfigMap c1", "ConfigMap c2", "ConfigMap c3", "Secret s1", "ServiceAccount a1", "Service w1"}
	pruned     = []string{"ConfigMap c4", "ConfigMap c5", "Secret s2", "Role r1", "Service w2", "ClusterRole k1", "Thing t1", "RoleBinding b1"}
)

// killObjects are the manifests of app by "Kind name", as they are at a step.
func killObjects(step int) map[string]string {
	all := map[string]string{}
	word := "old"
	if step >= 2 {
		word = "new"
	}
	add := func(api, kind, name, meta, rest string) {
		all[kind+" "+name] = fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n%s%s", api, kind, name, meta, rest)
	}
	wave := func(n int) string {
		return fmt.Sprintf("  annotations: {argocd.argoproj.io/sync-wave: %q}\n", fmt.Sprint(n))
	}
	add("v1", "Namespace", runName+"-more", "", "")
	for n := 1; n <= 13; n++ {
		add("v1", "ConfigMap", fmt.Sprintf("c%d", n), wave(n%3), fmt.Sprintf("data: {word: %s, number: %q}\n", word, fmt.Sprint(n)))
	}
	for n := 1; n <= 5; n++ {
		add("v1", "Secret", fmt.Sprintf("s%d", n), "", fmt.Sprintf("stringData: {password: %s-%d}\n", word, n))
	}
	add("v1", "Secret", "fixed", "  annotations: {axle-cd.github.io/recreate: \"true\"}\n", fmt.Sprintf("immutable: true\nstringData: {password: %s}\n", word))
	for n := 1; n <= 3; n++ {
		add("v1", "ServiceAccount", fmt.Sprintf("a%d", n), "", "")
		add("rbac.authorization.k8s.io/v1", "Role", fmt.Sprintf("r%d", n), "", "rules: [{apiGroups: [\"\"], resources: [pods], verbs: [get, "+map[string]string{"old": "list", "new": "watch"}[word]+"]}]\n")
		add("v1", "Service", fmt.Sprintf("w%d", n), "", "spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80}]}\n")
	}
	for n := 1; n <= 2; n++ {
		add("rbac.authorization.k8s.io/v1", "RoleBinding", fmt.Sprintf("b%d", n), wave(1), "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r3}\nsubjects: [{kind: ServiceAccount, name: a2, namespace: "+runName+"-app}]\n")
		add("rbac.authorization.k8s.io/v1", "ClusterRole", runName+fmt.Sprintf("-k%d", n), "", "rules: [{apiGroups: [\"\"], resources: [nodes], verbs: [get]}]\n")
		add(runName+".example.org/v1", "Thing", fmt.Sprintf("t%d", n), wave(2), fmt.Sprintf("spec: {word: %s}\n", word))
	}
	add("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", runName, "", "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "+runName+"-k2}\nsubjects: [{kind: ServiceAccount, name: a2, namespace: "+runName+"-app}]\n")
	add("scheduling.k8s.io/v1", "PriorityClass", runName, "", "value: 7\n")
	add("networking.k8s.io/v1", "NetworkPolicy", "n1", "", "spec: {podSelector: {}}\n")
	add("v1", "LimitRange", "l1", "", "spec: {limits: [{type: Container, max: {cpu: \"2\"}}]}\n")
	add("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things."+runName+".example.org", "", `spec:
  group: `+runName+`.example.org
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`)
	if step >= 2 {
		add("v1", "ConfigMap", "c14", wave(2), "data: {word: added}\n")
	}
	return all
}

// killFiles are the files of the repository.
func killFiles() map[string]string {
	files := map[string]string{
		"heir-1/own.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata: {word: mine}\n",
	}
	files["heir-2/own.yaml"] = files["heir-1/own.yaml"]
	for step := 1; step <= 4; step++ {
		var app, heir []string
		all := killObjects(step)
		for _, name := range sortedNames(all) {
			short := strings.ReplaceAll(name, runName+"-", "")
			switch {
			case step >= 3 && slices.Contains(handedOver, short):
				heir = append(heir, strings.Replace(all[name], "metadata:\n", "metadata:\n  namespace: "+runName+"-app\n", 1))
			case step >= 4 && slices.Contains(pruned, short):
			default:
				app = append(app, all[name])
			}
		}
		files[fmt.Sprintf("app-%d/all.yaml.liquid", step)] = strings.Join(app, "---\n")
		if step == 3 {
			files["heir-2/more.yaml.liquid"] = strings.Join(heir, "---\n")
		}
	}
	return files
}

func sortedNames(all map[string]string) []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
