package install_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/cli/install"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/test/kube"
)

var update = flag.Bool("update", false, "write the goldens")

const examples = "../../examples/install"

// elsewhere are the groups whose definitions other products install: the goldens hold
// them, and no API server here judges them.
var elsewhere = map[string]bool{"cert-manager.io": true, "gateway.networking.k8s.io": true, "monitoring.coreos.com": true}

// Each example is what its golden says, and a real API server takes all of it, its pods
// under restricted Pod Security.
func TestExamplesOfValues(t *testing.T) {
	cluster := kube.Shared(t)
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	applier, err := kubeapply.New(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(examples + "/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, namespace := range []string{"axle", "platform"} {
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			manifest := renderedFile(t, file)
			golden(t, "testdata/"+filepath.Base(file), manifest)
			objects, err := kubeapply.Documents([]byte(manifest))
			if err != nil || len(objects) < 10 {
				t.Fatalf("%d objects, %v", len(objects), err)
			}
			for _, object := range objects {
				if elsewhere[object.GroupVersionKind().Group] {
					continue
				}
				// The API servers here know IPv4 alone.
				unstructured.RemoveNestedField(object.Object, "spec", "ipFamilies")
				if err := applier.Apply(t.Context(), object, "test"); err != nil {
					t.Error(err)
				}
				acceptsPods(t.Context(), t, client, object)
			}
			for _, object := range objects { // immutable fields of the next example
				if resource, err := applier.Resource(object); err == nil && !elsewhere[object.GroupVersionKind().Group] {
					if err := resource.Delete(t.Context(), object.GetName(), metav1.DeleteOptions{}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// acceptsPods makes the pod of a workload, without keeping it: only then does Pod
// Security refuse.
func acceptsPods(ctx context.Context, t *testing.T, client kubernetes.Interface, object *unstructured.Unstructured) {
	t.Helper()
	template, found, err := unstructured.NestedMap(object.Object, "spec", "template")
	if !found || err != nil {
		return
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod); err != nil {
		t.Fatal(err)
	}
	pod.Name, pod.Namespace = "try-"+object.GetName(), object.GetNamespace()
	if claims, _, _ := unstructured.NestedSlice(object.Object, "spec", "volumeClaimTemplates"); len(claims) > 0 {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-0"}}})
	}
	if _, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, &pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("%s: %v", kubeapply.Name(object), err)
	}
}

// renderedFile renders the chart with a file of values and nothing else.
func renderedFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	r, err := install.Render(t.Context(), install.Request{Release: "axle", Namespace: "axle", Values: values, Revision: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r.Manifest
}

// golden compares a text with a file, without the password that the trial's Postgres
// gets anew each time.
func golden(t *testing.T, file, have string) {
	t.Helper()
	lines := strings.Split(have, "\n")
	for i, line := range lines {
		if before, _, ok := strings.Cut(line, "postgres://axle:"); ok {
			lines[i] = before + "postgres://axle:PASSWORD@…"
		} else if before, _, ok := strings.Cut(line, "password: "); ok && !strings.Contains(line, "secretKeyRef") {
			lines[i] = before + "password: PASSWORD"
		}
	}
	text := []byte(strings.Join(lines, "\n"))
	if *update {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test ./test/install -run TestExamplesOfValues -update writes it", err)
	}
	if !bytes.Equal(want, text) {
		t.Errorf("%s has changed: look at git diff after go test ./test/install -run TestExamplesOfValues -update", file)
	}
}

// What the schema cannot say, the chart says in a sentence with what to set.
func TestValuesThatContradictEachOther(t *testing.T) {
	for name, c := range map[string]struct{ values, want string }{
		"no url":              {"{}", "set it to the address"},
		"ha without database": {"{url: 'https://a.test', shape: ha}", "database.urlSecret.name"},
		"ha without key":      {"{url: 'https://a.test', shape: ha, postgres: {trial: true}}", "openssl rand"},
		"two databases":       {"{url: 'https://a.test', postgres: {trial: true}, database: {urlSecret: {name: x}}}", "exclude each other"},
		"ha with dev-ca":      {"{url: 'https://a.test', shape: ha, postgres: {trial: true}, hub: {keySecret: {name: k}}, tls: {mode: devCA}}", "shape small only"},
		"secret without name": {"{url: 'https://a.test', tls: {mode: secret}}", "set tls.secretName"},
		"no issuer":           {"{url: 'https://a.test', tls: {mode: certManager}}", "tls.issuer.name"},
		"two ways in":         {"{url: 'https://a.test', ingress: {enabled: true}, gateway: {enabled: true, parents: [{name: x}]}}", "set one of them to false"},
		"no gateway":          {"{url: 'https://a.test', gateway: {enabled: true}}", "gateway.parents"},
		"plain http":          {"{url: 'http://a.test'}", "clear text"},
		"one host":            {"{url: 'https://a.test', agentsUrl: 'https://a.test:9'}", "host of their own"},
		"backup nowhere":      {"{url: 'https://a.test', backup: {schedule: '0 1 * * *'}}", "set backup.to"},
		"backup in the pod":   {"{url: 'https://a.test', backup: {to: /backup}}", "set backup.claim"},
		"bucket and volume":   {"{url: 'https://a.test', backup: {to: 's3://b/p', claim: c}}", "leave one out"},
		"keys of a folder":    {"{url: 'https://a.test', backup: {to: /backup, claim: c, region: eu}}", "are for a bucket"},
		"unknown":             {"{url: 'https://a.test', replicas: 3}", "replicas"},
		"wrong type":          {"{url: 'https://a.test', hub: {port: eighty}}", "hub/port"},
		"wrong word":          {"{url: 'https://a.test', shape: large}", "small"},
		"not a url":           {"{url: axle.example.com}", "url"},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]any{}
			if err := yaml.Unmarshal([]byte(c.values), &values); err != nil {
				t.Fatal(err)
			}
			_, err := install.Render(t.Context(), install.Request{Release: "axle", Namespace: "axle", Values: values, Revision: 1})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not contain %q", err, c.want)
			}
		})
	}
}

// TestEverySecretOfTheControlPlaneIsItsOwn: a custom resource may name none of the Secrets
// that a value of the chart names, whichever is added next.
func TestEverySecretOfTheControlPlaneIsItsOwn(t *testing.T) {
	raw, err := os.ReadFile("../../deploy/charts/axle/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(raw, &values); err != nil {
		t.Fatal(err)
	}
	var planted []string
	plant(values, "", &planted)
	if len(planted) < 7 {
		t.Fatalf("the chart names the Secrets %q: the test does not find them", planted)
	}
	values["url"] = "https://axle.example.com"
	values["tls"].(map[string]any)["mode"] = "secret"
	values["backup"].(map[string]any)["to"] = "s3://backups/axle"
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, flags, _ := strings.Cut(renderedFile(t, file), "--own-secrets=")
	own, _, _ := strings.Cut(flags, "\n")
	for _, name := range planted {
		if !strings.Contains(","+own+",", ","+name+",") {
			t.Errorf("the operator's own Secrets are %q, without %q", own, name)
		}
	}
}

// plant names a Secret of its own wherever values name one.
func plant(values map[string]any, at string, planted *[]string) {
	for key, value := range values {
		inner, _ := value.(map[string]any)
		name := "planted-" + strings.ToLower(strings.ReplaceAll(strings.Trim(at+"-"+key, "-"), ".", "-"))
		switch {
		case inner != nil && strings.HasSuffix(key, "Secret"):
			inner["name"] = name
			*planted = append(*planted, name)
		case key == "secretName":
			values[key] = name
			*planted = append(*planted, name)
		case inner != nil:
			plant(inner, at+"-"+key, planted)
		}
	}
}
