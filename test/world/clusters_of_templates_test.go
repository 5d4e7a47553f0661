package world_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/pages"
	"github.com/axle-cd/axle/test/world"
)

// clusterKinds are the kinds of objects at the top of YAML.
var clusterKinds = regexp.MustCompile(`(?m)^apiVersion: ([a-z0-9.-]+)/([a-z0-9]+)\nkind: ([A-Za-z]+)$`)

// clusterDefinitions are the kinds of templates, and Cluster: without a controller and with
// any content. The test plays Cluster API by hand.
func clusterDefinitions(templates ...map[string]string) string {
	var all strings.Builder
	defined := map[string]bool{}
	define := func(group, version, kind string) {
		plural := strings.ToLower(kind) + "s"
		if strings.HasSuffix(kind, "s") {
			plural = strings.ToLower(kind) + "es"
		}
		if defined[plural] {
			return
		}
		defined[plural] = true
		status := ""
		if kind == "Cluster" { // others are written with their status
			status = ", subresources: {status: {}}"
		}
		fmt.Fprintf(&all, `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[4]s.%[1]s, annotations: {api-approved.kubernetes.io: https://github.com/kubernetes-sigs/cluster-api}}
spec:
  group: %[1]s
  names: {kind: %[3]s, plural: %[4]s}
  scope: Namespaced
  versions:
  - {name: %[2]s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}%[5]s}
`, group, version, kind, plural, status)
	}
	define("cluster.x-k8s.io", "v1beta2", "Cluster")
	define("cluster.x-k8s.io", "v1beta2", "MachineDeployment")
	for _, files := range templates {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			for _, found := range clusterKinds.FindAllStringSubmatch(files[name], -1) {
				define(found[1], found[2], found[3])
			}
		}
	}
	return all.String()
}

// established waits until all definitions are served. kubectl fails over one that has no
// conditions yet.
func (s *stage) established() {
	s.t.Helper()
	eventually.For(s.t, time.Minute, "the definitions", func() error {
		_, err := s.Kubectl(s.t.Context(), "mgmt", "wait", "--for=condition=Established", "crd", "--all", "--timeout=20s")
		return err
	})
}

// playTemplate are the files of a template whose clusters are of a size.
func playTemplate(size string) map[string]string {
	return map[string]string{
		"play/template.yaml": "name: play\n",
		"play/schema.json":   `{"type": "object", "required": ["region"], "properties": {"region": {"type": "string"}, "note": {"type": "string"}, "replicas": {"type": "integer", "default": 3}, "version": {"type": "string", "default": "v1.37.0"}}}`,
		"play/class/class.yaml": `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: play}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1, kind: PlayClusterTemplate, name: play}}
  variables: [{name: region, required: true}, {name: note}, {name: replicas}]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: PlayClusterTemplate
metadata: {name: play}
spec: {template: {spec: {size: ` + size + `}}}
`,
	}
}

// eksTemplate are the files of one of our templates.
func eksTemplate(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS("../..")
	if err := fs.WalkDir(root, "deploy/clusters/eks", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, name)
		files[name] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// createAClusterPage runs the commands of the page for users in a checkout.
func (s *stage) createAClusterPage(files map[string]string) {
	s.t.Helper()
	const page = "../../docs/howto/create-a-cluster.md"
	blocks, err := pages.Script(page)
	s.must(err)
	checkout := s.t.TempDir()
	for name, text := range files {
		s.must(os.MkdirAll(filepath.Dir(filepath.Join(checkout, name)), 0o700))
		s.must(os.WriteFile(filepath.Join(checkout, name), []byte(text), 0o600))
	}
	s.axle("projects", "create", "shop")
	objects := func() string {
		out, err := s.Kubectl(s.t.Context(), "mgmt", "get", "clusters.cluster.x-k8s.io", "-A", "-o", "jsonpath={range .items[*]}{.metadata.name} {.spec.topology.version} with {.spec.topology.workers.machineDeployments[*].replicas}{end}")
		if err != nil {
			return err.Error()
		}
		return out.Out
	}
	after := []string{"", "shop-1 v1.34.0 with 2", "shop-1 v1.34.0 with 5", "shop-1 v1.34.0 with 3", ""} // the Cluster objects after each block
	if len(blocks) != len(after) {
		s.t.Fatalf("%s has %d blocks, and not to register, create, change, scale and destroy", page, len(blocks))
	}
	for i, block := range blocks {
		command := exec.CommandContext(s.t.Context(), "bash", "-euo", "pipefail", "-c", block.Text)
		command.Dir = checkout
		command.Env = append(os.Environ(), "AXLE_CONFIG="+s.Settings(), "PATH="+filepath.Dir(s.Programs["axle"])+":"+os.Getenv("PATH"))
		if out, err := command.CombinedOutput(); err != nil {
			s.t.Fatalf("%s:%d\n%s\n%s: %v", page, block.Line, block.Text, out, err)
		}
		eventually.For(s.t, 3*time.Minute, "the Cluster objects", func() error {
			if have := objects(); have != after[i] {
				return fmt.Errorf("%q, want %q", have, after[i])
			}
			return nil
		})
	}
}

// TestAClusterIsMadeFromATemplateAndDestroyed follows a cluster from a folder of Git to the
// objects of Cluster API on a real API server, and back.
func TestAClusterIsMadeFromATemplateAndDestroyed(t *testing.T) {
	t.Parallel()
	s := newStage(t, "mgmt")
	kubectl := func(args ...string) string {
		s.t.Helper()
		out, err := s.Kubectl(s.t.Context(), "mgmt", args...)
		s.must(err)
		return strings.TrimSpace(out.Out)
	}
	refused := func(want string, args ...string) {
		s.t.Helper()
		out, err := s.Axle(s.t.Context(), args...)
		if text := out.Err + fmt.Sprint(err); err == nil || !strings.Contains(text, want) {
			s.t.Errorf("axle %s: %v %s, want %s", strings.Join(args, " "), err, out.Err, want)
		}
	}
	until := func(what string, check func() error) {
		s.t.Helper()
		eventually.For(s.t, 3*time.Minute, what, check)
	}
	file := filepath.Join(t.TempDir(), "definitions.yaml")
	eks := eksTemplate(t)
	s.must(os.WriteFile(file, []byte(clusterDefinitions(playTemplate("small"), eks)), 0o600))
	kubectl("apply", "-f", file)
	s.established()

	s.commitFiles("fleet", "a template", playTemplate("small"))
	commit, err := s.Git.Commit(t.Context(), "fleet", "main", "our template", eks)
	s.must(err)
	s.must(s.Git.Tag(t.Context(), "fleet", "v1.4.0", commit))
	s.createAClusterPage(eks)
	apply := []string{"clusters", "templates", "apply", "play", "--repository", "fleet", "--ref", "main", "--folder", "play", "--kinds", "Cluster.cluster.x-k8s.io,ClusterClass.cluster.x-k8s.io"}
	refused("PlayClusterTemplate.infrastructure.cluster.x-k8s.io is not among the kinds", append(apply, "--management-clusters", "mgmt")...)
	apply[len(apply)-1] += ",PlayClusterTemplate.infrastructure.cluster.x-k8s.io"
	s.axle(apply...)
	refused("names no management clusters", "clusters", "create", "web-1", "--template", "play", "--set", "region=eu")
	apply = append(apply, "--management-clusters", "mgmt")
	s.axle(apply...)

	// What cannot be made leaves nothing.
	refused("did you mean region?", "clusters", "create", "web-1", "--template", "play", "--set", "regoin=eu")
	refused("is not one of template play", "clusters", "create", "web-1", "--template", "play", "--set", "region=eu", "--on", "other")
	s.axle("projects", "create", "lab")
	refused("is not for project lab", "clusters", "create", "web-1", "--template", "play", "--set", "region=eu", "--project", "lab")
	refused("does not exist", "clusters", "get", "web-1")

	note := "{{ cluster.name }} $(id) '\"\n---\nkind: Secret"
	s.axle("clusters", "create", "web-1", "--template", "play", "--set", "region=1.30", "--set", "note="+note, "--on", "mgmt")
	refused("exists", "clusters", "create", "web-1", "--template", "play", "--set", "region=eu")
	origin := func(cluster, field string) string {
		s.t.Helper()
		return strings.TrimSpace(s.axle("clusters", "get", cluster, "-o", "jsonpath={.origin."+field+"}"))
	}
	refused("is not for project lab", "clusters", "move", "web-1", "--project", "lab", "--confirm")
	service, namespace, first := origin("web-1", "service"), origin("web-1", "namespace"), origin("web-1", "commit")
	if listed := s.axle("clusters", "list"); !strings.Contains(listed, "Provisioning") {
		t.Errorf("the list shows %s", listed)
	}
	inCluster := func(name, namespace, path string) string {
		out, err := s.Kubectl(s.t.Context(), "mgmt", "get", "clusters.cluster.x-k8s.io", name, "-n", namespace, "-o", "jsonpath="+path)
		if err != nil {
			return err.Error()
		}
		return out.Out
	}
	values := "{range .spec.topology.variables[*]}{.name}={.value};{end}"
	until("the Cluster object", func() error {
		if have, want := inCluster("web-1", namespace, values), "note="+note+";region=1.30;replicas=3;"; have != want {
			return fmt.Errorf("it has %q, want %q", have, want)
		}
		return nil
	})
	class := kubectl("get", "clusterclasses", "-n", namespace, "-o", "jsonpath={.items[*].metadata.name}")
	//rest: the class comes before the Cluster object, which is written whole
	if have := inCluster("web-1", namespace, "{.spec.topology.classRef.name}/{.metadata.labels.team}"); have != class+"/" || !strings.HasPrefix(class, "play-") {
		t.Errorf("the cluster has the class %s, and there is %s", have, class)
	}

	// Another class that somebody writes on the management cluster is healed, and labels there do
	// not say what the cluster is in the hub.
	kubectl("patch", "clusters.cluster.x-k8s.io", "web-1", "-n", namespace, "--type=merge", "-p", `{"metadata":{"labels":{"tier":"prod","axle-cd.github.io/project":"default"}},"spec":{"topology":{"classRef":{"name":"other"}}}}`)
	until("the class is what the hub made", func() error {
		if have := inCluster("web-1", namespace, "{.spec.topology.classRef.name}"); have != class {
			return errors.New(have)
		}
		return nil
	})
	//rest: no report has labels of the object, however long one waits
	if tags := strings.TrimSpace(s.axle("clusters", "get", "web-1", "-o", "jsonpath={.tags}")); tags != "" && tags != "{}" {
		t.Errorf("the hub took the tags %s", tags)
	}

	s.connects("web-1", namespace)

	// Nobody changes what the hub made but the hub, and running clusters keep their class.
	refused("belongs to the hub itself", "services", "delete", "mgmt/"+service, "--yes")
	refused("belongs to the hub itself", "services", "update", "mgmt/"+service, "--ref", "main")
	refused("mgmt is used by ClusterTemplate eks", "clusters", "delete", "mgmt", "--detach", "--timeout", "0", "--yes")
	s.commitFiles("fleet", "larger ones", playTemplate("large"))
	s.axle(apply...)
	s.axle("clusters", "create", "web-2", "--template", "play", "--variables", `{"region": "us"}`)
	second := origin("web-2", "namespace")
	until("the second cluster", func() error {
		have := kubectl("get", "playclustertemplates", "-A", "-o", "jsonpath={range .items[*]}{.spec.template.spec.size}@{.metadata.namespace};{end}")
		if !strings.Contains(have, "small@"+namespace) || !strings.Contains(have, "large@"+second) {
			return fmt.Errorf("the templates are %s", have)
		}
		return nil
	})
	//rest: the hub writes the commit with the cluster
	if have := origin("web-1", "commit"); have != first || origin("web-2", "commit") == first {
		t.Errorf("the first cluster was made of %s, and is of %s; the second of %s", first, have, origin("web-2", "commit"))
	}

	// Without the repository there is no other version of the template; clusters stay, and more
	// are made of what the hub keeps.
	s.must(s.Git.Delete("fleet"))
	refused("fleet", apply...)
	s.axle("services", "wait", "mgmt/"+service, "--timeout", "2m")
	s.axle("clusters", "create", "web-3", "--template", "play", "--set", "region=eu")
	until("a cluster without the repository", func() error {
		if have := inCluster("web-3", origin("web-3", "namespace"), "{.metadata.name}"); have != "web-3" {
			return errors.New(have)
		}
		return nil
	})

	// The Cluster object goes first, and everything that it needs outlives it.
	refused("axle clusters destroy web-1", "clusters", "delete", "web-1", "--yes")
	kubectl("patch", "clusters.cluster.x-k8s.io", "web-1", "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":["test.axle-cd.github.io/machines"]}}`)
	s.axle("clusters", "destroy", "web-1", "--yes", "--timeout", "0")
	until("the Cluster object is being deleted", func() error {
		if at := inCluster("web-1", namespace, "{.metadata.deletionTimestamp}"); !strings.HasPrefix(at, "20") {
			return fmt.Errorf("it says %q", at)
		}
		return nil
	})
	// Neither the hub nor the agent forgets it.
	s.must(s.agents["mgmt"].Kill())
	s.must(s.Hub.Kill())
	s.must(s.Hub.Start(t.Context()))
	s.must(s.agents["mgmt"].Start())
	//rest: the hub wrote it when it was asked to destroy
	if state := s.axle("clusters", "list"); !strings.Contains(state, "Destroying") {
		t.Errorf("the list shows %s", state)
	}
	if have := kubectl("get", "clusterclasses,playclustertemplates", "-n", namespace, "-o", "name"); !strings.Contains(have, class) {
		t.Errorf("while the cluster is there, its namespace has %q", have)
	}
	kubectl("patch", "clusters.cluster.x-k8s.io", "web-1", "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	until("the cluster leaves the hub", func() error {
		if left := s.axle("clusters", "list", "-o", "name"); strings.Contains(left, "web-1") {
			return fmt.Errorf("the hub has %s", left)
		}
		return nil
	})
	if have := kubectl("get", "clusterclasses,playclustertemplates", "-n", namespace, "-o", "name"); have != "" {
		t.Errorf("the namespace has %q", have)
	}
	if have := kubectl("get", "namespace", namespace, "--ignore-not-found", "-o", "jsonpath={.status.phase}"); have == "Active" {
		t.Error("the namespace stays")
	}

	// A cluster that is detached keeps its machines.
	service = origin("web-2", "service")
	s.axle("clusters", "delete", "web-2", "--detach", "--yes")
	until("the service is gone", func() error {
		if left := s.axle("services", "list", "--quiet"); strings.Contains(left, service) {
			return fmt.Errorf("the services are %s", left)
		}
		return nil
	})
	if have := inCluster("web-2", second, "{.metadata.name}{.metadata.deletionTimestamp}"); have != "web-2" {
		t.Errorf("the Cluster object is %q", have)
	}
}

// noDeployments keeps a cluster from taking Deployments.
const noDeployments = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-deployments}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}
  validations: [{expression: "false", message: not yet}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-deployments}
spec: {policyName: no-deployments, validationActions: [Deny]}
`

// badKubeconfigs rotates the credentials of a cluster: to a control plane that is away, to
// ones that run a program, and to none. Each is read anew, and none ends the work on it.
func (s *stage) badKubeconfigs(name, namespace string, in func(cluster string, args ...string) string, shows func(what, want string, args ...string)) {
	s.t.Helper()
	const kubeconfig = `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}], "users": [{"name": "c", "user": %s}]}`
	for _, one := range []struct{ user, want string }{
		{`{"token": "a-secret"}`, "Waits for: its control plane does not answer"},
		{`{"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "a-secret"}}`, "its kubeconfig runs a program or names a file"},
	} {
		text := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, kubeconfig, one.user))
		file := filepath.Join(s.t.TempDir(), "secret.json")
		s.must(os.WriteFile(file, fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret", "metadata": {"name": %q, "namespace": %q}, "data": {"value": %q}}`,
			name+"-kubeconfig", namespace, text), 0o600))
		in("mgmt", "apply", "-f", file)
		shows("credentials that do not work", one.want, "clusters", "get", name)
		if said := s.axle("clusters", "get", name, "-o", "json"); strings.Contains(said, "a-secret") {
			s.t.Errorf("the hub says %s", said)
		}
	}
	in("mgmt", "delete", "secret", name+"-kubeconfig", "-n", namespace)
	shows("no credentials any more", "Waits for: its control plane has no kubeconfig yet", "clusters", "get", name)
}

// connects plays Cluster API and a kubelet for a cluster of a template: its control plane
// answers, and the agent that then comes into it runs. The agent of the management cluster is
// killed between two of the objects that it writes there.
func (s *stage) connects(name, namespace string) {
	s.t.Helper()
	workload, err := s.AddCluster(s.t.Context(), name)
	s.must(err)
	in := func(cluster string, args ...string) string {
		out, err := s.Kubectl(s.t.Context(), cluster, args...)
		if err != nil {
			return err.Error()
		}
		return strings.TrimSpace(out.Out)
	}
	until := func(what string, check func() error) {
		s.t.Helper()
		eventually.For(s.t, 3*time.Minute, what, check)
	}
	file := filepath.Join(s.t.TempDir(), "policy.yaml")
	s.must(os.WriteFile(file, []byte(noDeployments), 0o600))
	in(name, "apply", "-f", file)
	until("Deployments are refused", func() error {
		if said := in(name, "create", "deployment", "a", "--image=a", "--dry-run=server"); !strings.Contains(said, "not yet") {
			return fmt.Errorf("the API server says %s", said)
		}
		return nil
	})
	// What Cluster API says of it is seen in the hub.
	shows := func(what, want string, args ...string) {
		s.t.Helper()
		until(what, func() error {
			if said := s.axle(args...); !strings.Contains(strings.Join(strings.Fields(said), " "), want) {
				return fmt.Errorf("the hub says %s", said)
			}
			return nil
		})
	}
	shows("what it waits for", "Waits for: its control plane has no kubeconfig yet", "clusters", "get", name)
	pool := filepath.Join(s.t.TempDir(), "pool.json")
	s.must(os.WriteFile(pool, []byte(`{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": {"name": "a-x7z", "labels": {"cluster.x-k8s.io/cluster-name": "`+name+`", "topology.cluster.x-k8s.io/deployment-name": "workers"}},
		"spec": {"replicas": 3}, "status": {"phase": "ScalingUp", "readyReplicas": 1, "upToDateReplicas": 3, "versions": [{"version": "v1.37.0", "replicas": 3}]}}`), 0o600))
	in("mgmt", "create", "-n", namespace, "-f", pool)
	in("mgmt", "patch", "clusters.cluster.x-k8s.io", name, "-n", namespace, "--subresource=status", "--type=merge", "-p", `{"status": {"phase": "Pending", "controlPlane": {"desiredReplicas": 1}, "conditions": [{"type": "Available", "status": "False", "reason": "NotAvailable", "message": "the network is made", "lastTransitionTime": "2026-01-01T00:00:00Z"}, {"type": "Paused", "status": "False", "reason": "NotPaused"}]}}`)
	shows("the phase", name+" Pending", "clusters", "list")
	shows("the pool", "Pools: workers: 1/3 ready, 3 up to date, v1.37.0 ScalingUp", "clusters", "get", name)
	shows("the condition", "the network is made", "clusters", "get", name)
	if said := s.axle("clusters", "get", name); strings.Contains(said, "Paused") {
		s.t.Errorf("it says %s", said)
	}
	s.badKubeconfigs(name, namespace, in, shows)
	in("mgmt", "create", "secret", "generic", name+"-kubeconfig", "-n", namespace, "--type=cluster.x-k8s.io/secret", "--from-file=value="+workload.Kubeconfig())
	token := func() string {
		return in(name, "get", "secret", "axle-agent-bootstrap", "-n", "axle-system", "--ignore-not-found", "-o", "jsonpath={.data.token}")
	}
	first := ""
	until("the token in the cluster", func() error {
		if first = token(); first == "" {
			return errors.New("there is none")
		}
		return nil
	})
	if have := in(name, "get", "deployments", "-n", "axle-system", "-o", "name"); have != "" {
		s.t.Errorf("before the rest, the cluster has %s", have)
	}
	s.must(s.agents["mgmt"].Kill())
	in(name, "delete", "-f", file)
	s.must(s.agents["mgmt"].Start())
	until("the agent in the cluster", func() error {
		if have := in(name, "get", "deployments", "-n", "axle-system", "-o", "name"); have != "deployment.apps/axle-agent" {
			return fmt.Errorf("it has %q", have)
		}
		return nil
	})
	text, err := base64.StdEncoding.DecodeString(token())
	s.must(err)
	if token() == first {
		s.t.Error("the agent that was started again used the token of before")
	}
	agent, err := s.ConnectProcess(s.t.Context(), name, world.AgentOptions{Token: string(text)})
	s.must(err)
	s.agents[name] = agent
	s.deploy(name, "web", "app")
	if have := in(name, "get", "configmap", "two", "-n", "web", "-o", "jsonpath={.data.word}"); have != "always" {
		s.t.Errorf("the service wrote %q", have)
	}
	s.t.Cleanup(func() { _ = agent.Kill() })
}
