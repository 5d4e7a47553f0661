package agent_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/kube"
)

// applied collects what reaches an API server as server-side applies of one
// field manager, by path.
type applied struct {
	http.RoundTripper
	mu     sync.Mutex
	bodies map[string][]byte
}

// RoundTrip notes the body and sends the request on.
func (a *applied) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch && strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		a.mu.Lock()
		a.bodies[r.URL.Path] = body
		a.mu.Unlock()
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return a.RoundTripper.RoundTrip(r)
}

// byteFolder holds what YAML, JSON and templates may write in more than one
// way.
var byteFolder = map[string]string{
	"Chart.yaml": "apiVersion: v2\nname: bytes\nversion: 1.0.0\n",
	"templates/all.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: texts, labels: {a: "1"}, annotations: {note: "x"}}
data:
  octal: "0644"
  yes: "yes"
  umlaut: "äöü € 漢字 \u0000x"
  html: "<a href='x'>&amp;</a>"
  lines: |+
    one
      two

  exponent: "1e3"
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: numbers}
spec:
  replicas: 0
  selector: {matchLabels: {app: numbers}}
  template:
    metadata: {labels: {app: numbers}}
    spec:
      terminationGracePeriodSeconds: 1000000
      containers:
        - name: a
          image: example.org/a:1
          env: [{name: BIG, value: "9007199254740993"}, {name: EMPTY, value: ""}]
          resources: {limits: {cpu: 1, memory: 1e9}}
---
apiVersion: v1
kind: Secret
metadata: {name: secret}
stringData: {password: "pa ss\n"}
data: {bytes: AAECAw==}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: role}
rules: [{apiGroups: [""], resources: [pods], verbs: ["*"]}]
`,
}

// TestRenderShowsWhatIsApplied renders a folder as people do, by axle-agent
// render, and as the agent does, and compares with the bytes that reach the
// API server: but for the agent's marks, the namespace, and stringData that is applied as
// data, they are the same.
func TestRenderShowsWhatIsApplied(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "shop-bytes")
	for name, text := range byteFolder {
		needs(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		needs(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	binary, err := bin.Path(ctx, "axle-render", bin.Options{})
	needs(t, err)
	request := agent.RenderRequest{Dir: dir, Binary: binary}
	var shown bytes.Buffer
	_, err = agent.RenderDir(ctx, &shown, request)
	needs(t, err)

	want := map[string]string{}
	for document := range strings.SplitSeq(shown.String(), "---\n# Source: ") {
		if document == "" {
			continue
		}
		_, document, _ = strings.Cut(document, "\n")
		object := decodeObject(t, document)
		asStored(t, object)
		want[object.GetKind()+" "+object.GetName()] = encodeObject(t, object)
	}
	got := applyAndCapture(t, request)
	if len(got) != 4 {
		t.Errorf("%d objects reached the API server, want 4", len(got))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-shown +applied):\n%s", diff)
	}
}

// asStored moves the stringData of a Secret into its data, as it is stored.
func asStored(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	texts, found, err := unstructured.NestedStringMap(object.Object, "stringData")
	needs(t, err)
	if !found {
		return
	}
	for key, text := range texts {
		needs(t, unstructured.SetNestedField(object.Object, base64.StdEncoding.EncodeToString([]byte(text)), "data", key))
	}
	unstructured.RemoveNestedField(object.Object, "stringData")
}

// applyAndCapture renders and applies with the agent's parts and returns the bodies
// without the agent's additions, by "Kind name".
func applyAndCapture(t *testing.T, request agent.RenderRequest) map[string]string {
	t.Helper()
	ctx, cluster := t.Context(), kube.Shared(t)
	admin, err := kubernetes.NewForConfig(cluster.Config())
	needs(t, err)
	_, _ = admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "axle-system"}}, metav1.CreateOptions{})
	spec, err := agent.SpecOf(request)
	needs(t, err)
	id := "bytes-" + strings.ToLower(rand.Text()[:8])
	spec.Id, spec.Namespace = id, id
	pass, err := render.FromSpec(spec, request.Dir)
	needs(t, err)
	runner, err := render.New(render.Config{Binary: request.Binary, Pool: 1})
	needs(t, err)
	defer runner.Close()
	result, err := runner.Render(ctx, pass)
	needs(t, err)
	var objects []*unstructured.Unstructured
	for _, o := range result.Objects {
		object := &unstructured.Unstructured{}
		needs(t, object.UnmarshalJSON(o.JSON))
		objects = append(objects, object)
	}

	rest, err := cluster.ConfigFor("agent-of-bytes", "system:masters")
	needs(t, err)
	captured := &applied{bodies: map[string][]byte{}}
	rest.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		captured.RoundTripper = next
		return captured
	}
	engine, err := apply.New(apply.Config{REST: rest, ClusterID: "c-bytes"})
	needs(t, err)
	needs(t, engine.Load(ctx))
	service := apply.FromSpec(spec, "axle1:bytes")
	service.CreateNamespace = true
	permit, err := tenancy.New(rest, "axle-system").Permit(tenancy.FromSpec(spec))
	needs(t, err)
	if done, err := engine.Pass(ctx, permit, service, objects); err != nil || len(done.Problems) > 0 {
		t.Fatalf("%v %+v", err, done.Problems)
	}

	out := map[string]string{}
	captured.mu.Lock()
	defer captured.mu.Unlock()
	for path, body := range captured.bodies {
		object := decodeObject(t, string(body))
		annotations, labels := object.GetAnnotations(), object.GetLabels()
		if annotations[kubeobj.ServiceAnnotation] != id || object.GetNamespace() != id || !strings.Contains(path, "/namespaces/"+id+"/") {
			continue // the inventory and the namespace
		}
		delete(annotations, kubeobj.ServiceAnnotation)
		delete(annotations, kubeobj.TrackingAnnotation)
		delete(labels, kubeobj.ManagedLabel)
		setOrRemove(object, "annotations", annotations)
		setOrRemove(object, "labels", labels)
		unstructured.RemoveNestedField(object.Object, "metadata", "namespace")
		// It guards the first write against an object that somebody else creates.
		unstructured.RemoveNestedField(object.Object, "metadata", "resourceVersion")
		out[object.GetKind()+" "+object.GetName()] = encodeObject(t, object)
	}
	return out
}

func setOrRemove(object *unstructured.Unstructured, field string, values map[string]string) {
	if len(values) == 0 {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
		return
	}
	_ = unstructured.SetNestedStringMap(object.Object, values, "metadata", field)
}

func decodeObject(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	needs(t, err)
	object := &unstructured.Unstructured{}
	needs(t, object.UnmarshalJSON(encoded))
	return object
}

func encodeObject(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(object.Object)
	needs(t, err)
	return string(text)
}

func needs(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
