package proxy_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"connectrpc.com/connect"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/componentlist"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/test/kube"
)

// componentFile is a component in small: a manager that runs nothing, and a text that a
// template would replace.
const componentFile = `apiVersion: v1
kind: Namespace
metadata:
  name: NAME-system
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: notes
  namespace: NAME-system
data:
  note: '{{ cluster.name }}'
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: manager
  namespace: NAME-system
  labels: {cluster.x-k8s.io/provider: NAME}
spec:
  replicas: 0
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      containers:
      - name: manager
        image: registry.example.com/capi/NAME:v1.2.3
`

// listed is the folder deploy with another list of components.
type listed struct {
	fs.FS
	list fstest.MapFS
}

// Open implements fs.FS.
func (l listed) Open(name string) (fs.File, error) {
	if name == componentlist.Path {
		return l.list.Open(name)
	}
	return l.FS.Open(name)
}

// installed is a hub that installs components, with their files in a folder.
type installed struct {
	*whole
	kube   *kube.Cluster
	folder string
	api    *kubernetes.Clientset
}

// newInstalled lists small components.

func newInstalled(t *testing.T) *installed {
	t.Helper()
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	i := &installed{kube: c, folder: t.TempDir()}
	var list strings.Builder
	for _, name := range []string{"core", "bootstrap-kubeadm", "control-plane-kubeadm", "infrastructure-docker", "infrastructure-aws"} {
		text := strings.ReplaceAll(componentFile, "NAME", name)
		if err := os.WriteFile(i.file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		secret := map[string]string{"infrastructure-aws": "aws-credentials"}[name]
		if secret == "" {
			secret = "-"
		}
		fmt.Fprintf(&list, "%x %d %s v1.2.3 %s-system registry.example.com/capi/%s %s\n", sha256.Sum256([]byte(text)), len(text), name, name, name, secret)
	}
	i.whole = newWholeOf(t, c, hubtest.HubConfig{Deploy: listed{os.DirFS("../../deploy"), fstest.MapFS{componentlist.Path: {Data: []byte(list.String())}}}})
	if i.api, err = kubernetes.NewForConfig(c.Config()); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *installed) file(name string) string { return filepath.Join(i.folder, name+".yaml") }

// install runs the command and returns what it prints.
func (i *installed) install(args ...string) (out, errs string) {
	i.t.Helper()
	out, errs, err := i.command(i.axle, append([]string{"clusters", "api", "install", "--on", "edge", "--from", i.folder}, args...)...)
	if err != nil {
		i.t.Fatalf("install %v: %v\n%s%s", args, err, out, errs)
	}
	return out, errs
}

func (i *installed) refused(want string, args ...string) {
	i.t.Helper()
	out, errs, err := i.command(i.axle, append([]string{"clusters", "api", "install", "--on", "edge", "--from", i.folder}, args...)...)
	if err == nil || !strings.Contains(errs, want) {
		i.t.Errorf("install %v: %v\n%s%s\nwant: %s", args, err, out, errs, want)
	}
	if list, some := i.list(); some > 0 {
		i.t.Errorf("install %v was refused, and wrote %v", args, list)
	}
}

// component is what the command says of one.
type component struct{ Name, Installed, Available, Sync, Message string }

// list returns the components of the management cluster by name, and how many are installed.
func (i *installed) list() (by map[string]component, some int) {
	i.t.Helper()
	out, errs, err := i.command(i.axle, "clusters", "api", "list", "--on", "edge", "-o", "json")
	if err != nil {
		i.t.Fatalf("list: %v\n%s", err, errs)
	}
	var all []component
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		i.t.Fatal(err)
	}
	by = map[string]component{}
	for _, c := range all {
		by[c.Name] = c
		if c.Installed != "" {
			some++
		}
	}
	return by, some
}

// state returns the state of a component's service.
func (i *installed) state(name string) (sync, message string) {
	i.t.Helper()
	all, _ := i.list()
	return all[name].Sync, all[name].Message
}

func (i *installed) synced(name string) {
	i.t.Helper()
	eventually.For(i.t, limit, name+" is applied", func() error {
		if sync, message := i.state(name); sync != "Synced" {
			return fmt.Errorf("it is %q: %s", sync, message)
		}
		return nil
	})
}

// image waits for the image of a component's manager.
func (i *installed) image(name, want string) {
	i.t.Helper()
	eventually.For(i.t, limit, "the image of "+name, func() error {
		d, err := i.api.AppsV1().Deployments(name+"-system").Get(i.t.Context(), "manager", metav1.GetOptions{})
		if err == nil && d.Spec.Template.Spec.Containers[0].Image != want {
			err = fmt.Errorf("it is %s", d.Spec.Template.Spec.Containers[0].Image)
		}
		return err
	})
}

// TestClusterAPIIsInstalledByDigest plays docs/howto/install-cluster-api.md with small files: the command, the hub,
// its look through the tunnel, the agent and the API server are real.
func TestClusterAPIIsInstalledByDigest(t *testing.T) {
	t.Parallel()
	i := newInstalled(t)
	ctx := t.Context()
	if list, some := i.list(); some > 0 || len(list) != 5 || list["core"].Available != "v1.2.3" {
		t.Errorf("a new hub lists %v", list)
	}
	i.refused("it has aws, docker", "--provider", "azure")
	i.refused("installs docker v1.2.3", "--provider", "docker", "--version", "v1.3.0")
	i.refused("HOST[:PORT][/PATH]", "--provider", "docker", "--registry", "https://registry.example.com")
	i.refused("has no cert-manager", "--provider", "docker")
	i.certManager("certificates")

	// Somebody else's.
	must(t)(i.api.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-kubeadm-system"}}, metav1.CreateOptions{}))
	none := int32(0)
	app := map[string]string{"app": "other"}
	other := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{"cluster.x-k8s.io/provider": "cluster-api"}},
		Spec: appsv1.DeploymentSpec{Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: app}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}},
	}
	must(t)(i.api.AppsV1().Deployments("bootstrap-kubeadm-system").Create(ctx, other, metav1.CreateOptions{}))
	i.refused("did not install: Deployment bootstrap-kubeadm-system/other", "--provider", "docker")
	if err := i.api.AppsV1().Deployments("bootstrap-kubeadm-system").Delete(ctx, "other", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	i.refusesOtherFiles()

	if out, _ := i.install("--provider", "docker", "--dry-run"); strings.Count(out, " install") != 4 || strings.Contains(out, "aws") {
		t.Errorf("the plan is\n%s", out)
	}
	if list, some := i.list(); some > 0 {
		t.Errorf("a plan wrote %v", list)
	}
	i.install("--provider", "docker")
	for _, name := range []string{"core", "control-plane-kubeadm", "infrastructure-docker"} {
		i.synced(name)
	}
	i.image("core", "registry.example.com/capi/core:v1.2.3")
	//rest: the hub has the report that the component is Synced
	if notes, err := i.api.CoreV1().ConfigMaps("core-system").Get(ctx, "notes", metav1.GetOptions{}); err != nil || notes.Data["note"] != "{{ cluster.name }}" {
		t.Errorf("the file was made into %v: %v", notes.Data, err)
	}
	// A Namespace that somebody else made is in the way of a component, and is not taken over.
	eventually.For(t, limit, "the refusal of the agent", func() error {
		if sync, message := i.state("bootstrap-kubeadm"); sync == "Synced" || !strings.Contains(message, "bootstrap-kubeadm-system") {
			return fmt.Errorf("it is %q: %s", sync, message)
		}
		return nil
	})

	if out, _ := i.install("--provider", "docker"); strings.Count(out, " none") != 4 {
		t.Errorf("a second installation changes\n%s", out)
	}
	i.install("--provider", "docker", "--registry", "mirror.example.com:5000/x")
	i.image("core", "mirror.example.com:5000/x/capi/core:v1.2.3")
	out, errs := i.install("--provider", "aws")
	if strings.Count(out, " none") != 4 || !strings.Contains(errs, "Secret aws-credentials of namespace infrastructure-aws-system") {
		t.Errorf("another provider changes\n%s%s", out, errs)
	}
	i.image("infrastructure-aws", "mirror.example.com:5000/x/capi/infrastructure-aws:v1.2.3")
	i.isRecorded()
}

// certManager defines resources of cert-manager, which take anything.
func (i *installed) certManager(resources ...string) {
	t := i.t
	t.Helper()
	applier, err := kubeapply.New(i.kube.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range resources {
		text := strings.NewReplacer("RESOURCE", resource, "KIND", map[string]string{"certificates": "Certificate", "issuers": "Issuer"}[resource]).Replace(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: RESOURCE.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {plural: RESOURCE, kind: KIND}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
		if err := applier.ApplyAll(t.Context(), []byte(text), "test", func(string) {}); err != nil {
			t.Fatal(err)
		}
	}
}

// refusesOtherFiles tries files that the hub does not list.
func (i *installed) refusesOtherFiles() {
	t := i.t
	t.Helper()
	kept, err := os.ReadFile(i.file("core"))
	if err != nil {
		t.Fatal(err)
	}
	altered := append([]byte("# altered\n"), kept...)
	if err := os.WriteFile(i.file("core"), altered, 0o600); err != nil {
		t.Fatal(err)
	}
	i.refused("and the hub wants sha256:", "--provider", "docker")
	if err := os.WriteFile(i.file("core"), kept, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, files := range []map[string][]byte{nil, {"core.yaml": altered}} {
		_, err := i.client.Clusters.InstallComponents(t.Context(), connect.NewRequest(&hubv1.InstallComponentsRequest{Cluster: "edge", Provider: "docker", Files: files}))
		if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "core.yaml is") {
			t.Errorf("%d files: %v", len(files), err)
		}
	}
}

// isRecorded looks for the calls in the audit log, and for files there.
func (i *installed) isRecorded() {
	t := i.t
	t.Helper()
	eventually.For(t, limit, "the record", func() error {
		all, err := i.client.Audit.List(t.Context(), connect.NewRequest(&hubv1.ListAuditRequest{}))
		if err != nil {
			return err
		}
		text := all.Msg.String()
		if strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(componentFile[:30]))) || strings.Contains(text, "kind: Namespace") {
			t.Error("the audit log has files")
		}
		if !strings.Contains(text, "Clusters/InstallComponents") {
			return fmt.Errorf("there is none among %d", len(all.Msg.GetRecords()))
		}
		return nil
	})
}
