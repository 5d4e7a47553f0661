package apply_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
)

// webhook installs an admission webhook for ConfigMaps of one namespace, with some
// seconds to answer, and waits until it is called: before that, objects that it would
// reject pass.
func (b *bed) webhook(namespace string, mutating bool, seconds int32, answer func(w http.ResponseWriter, r *admissionv1.AdmissionReview)) (remove func()) {
	b.t.Helper()
	var asked atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&review); err != nil {
			return
		}
		asked.Store(true)
		answer(w, &review)
	}))
	b.t.Cleanup(server.Close)
	b.makeNamespace(namespace)
	if _, err := b.admin.CoreV1().Namespaces().Patch(b.t.Context(), namespace, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"hooked":"`+namespace+`"}}}`), metav1.PatchOptions{}); err != nil {
		b.t.Fatal(err)
	}
	fail, none, name := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, "hook."+namespace+".example.org"
	client := admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	rules := []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
		Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"hooked": namespace}}
	registry := b.admin.AdmissionregistrationV1()
	var err error
	if mutating {
		_, err = registry.MutatingWebhookConfigurations().Create(b.t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: name, ClientConfig: client, Rules: rules, FailurePolicy: &fail, NamespaceSelector: selector,
				SideEffects: &none, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"}}}}, metav1.CreateOptions{})
		remove = func() {
			_ = registry.MutatingWebhookConfigurations().Delete(b.t.Context(), name, metav1.DeleteOptions{})
		}
	} else {
		_, err = registry.ValidatingWebhookConfigurations().Create(b.t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: name, ClientConfig: client, Rules: rules, FailurePolicy: &fail, NamespaceSelector: selector,
				SideEffects: &none, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"}}}}, metav1.CreateOptions{})
		remove = func() {
			_ = registry.ValidatingWebhookConfigurations().Delete(b.t.Context(), name, metav1.DeleteOptions{})
		}
	}
	if err != nil {
		b.t.Fatal(err)
	}
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
	eventually.For(b.t, time.Minute, "the webhook is in force", func() error {
		_, err := b.admin.CoreV1().ConfigMaps(namespace).Create(b.t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if !asked.Load() {
			return fmt.Errorf("it was not asked: %v", err)
		}
		return nil
	})
	return remove
}

// respond answers an admission review.
func respond(w http.ResponseWriter, r *admissionv1.AdmissionReview, response admissionv1.AdmissionResponse) {
	response.UID = r.Request.UID
	r.Response, r.Request = &response, nil
	_ = json.NewEncoder(w).Encode(r)
}

func TestWebhookThatRejectsOrHangsIsToldAndOvercome(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(w http.ResponseWriter, r *admissionv1.AdmissionReview)
		want   string
	}{
		"rejects": {func(w http.ResponseWriter, r *admissionv1.AdmissionReview) {
			respond(w, r, admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "not on a Friday"}})
		}, "not on a Friday"},
		"hangs": {nil, "webhook"},
		"talks nonsense": {func(w http.ResponseWriter, _ *admissionv1.AdmissionReview) {
			http.Error(w, "what?", http.StatusTeapot)
		}, "webhook"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, nil)
			service := newService("d1")
			if result := b.pass(service, configMap("kept", "old"), configMap("stays", "v")); result.Phase != apply.PhaseApplied {
				t.Fatalf("%+v", result)
			}
			answer, seconds := test.answer, int32(30)
			if answer == nil {
				seconds = 1
				hold := t.Context().Done()
				answer = func(http.ResponseWriter, *admissionv1.AdmissionReview) {
					select {
					case <-hold:
					case <-time.After(3 * time.Second):
					}
				}
			}
			remove := b.webhook(service.Namespace, false, seconds, answer)
			service.TarballDigest = "d2"
			docs := []string{configMap("kept", "new"), "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: other}"}
			if result := b.pass(service, docs...); result.Sync != apply.SyncFailed || !strings.Contains(result.Message, test.want) || !strings.Contains(result.Message, "ConfigMap") {
				t.Errorf("%+v", result)
			}
			// Objects that the webhook rejects stay in the cluster, and nothing is
			// deleted.
			if _, err := b.admin.CoreV1().ServiceAccounts(service.Namespace).Get(t.Context(), "other", metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
			if _, err := b.configMap(service.Namespace, "stays"); err != nil {
				t.Errorf("pruned by a pass that failed: %v", err)
			}
			remove()
			eventually.For(t, time.Minute, "it converges once the webhook is gone", func() error {
				if result := b.pass(service, docs...); result.Phase != apply.PhaseApplied {
					return fmt.Errorf("%+v", result)
				}
				return nil
			})
			if _, err := b.configMap(service.Namespace, "stays"); err == nil {
				t.Error("what is not rendered any more stays")
			}
		})
	}
}

func TestWebhookThatChangesEveryObjectIsNoDrift(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	kind := admissionv1.PatchTypeJSONPatch
	b.webhook(service.Namespace, true, 30, func(w http.ResponseWriter, r *admissionv1.AdmissionReview) {
		respond(w, r, admissionv1.AdmissionResponse{Allowed: true, PatchType: &kind, Patch: []byte(`[{"op":"add","path":"/data/injected","value":"yes"}]`)})
	})
	b.pass(service, configMap("a", "old"), configMap("b", "v"))
	if m, err := b.configMap(service.Namespace, "a"); err != nil || m.Data["injected"] != "yes" {
		t.Fatalf("the webhook did not act: %v %v", m, err)
	}
	service.TarballDigest = "d2"
	if result := b.pass(service, configMap("a", "v"), configMap("b", "v")); result.Phase != apply.PhaseApplied {
		t.Fatalf("%+v", result)
	}
	mark := b.mark()
	for range 5 {
		if result := b.pass(service, configMap("a", "v"), configMap("b", "v")); result.Phase != apply.PhaseApplied || result.Unchanged != 2 {
			t.Errorf("%+v", result)
		}
	}
	if sent := b.requests(mark); len(sent) != 0 {
		t.Errorf("a webhook that changes everything makes requests:\n%s", sent)
	}
}

// troubled answers some requests in place of the API server.
type troubled struct {
	next   http.RoundTripper
	answer func(r *http.Request) (status int, reason string)
}

func (f *troubled) RoundTrip(r *http.Request) (*http.Response, error) {
	code, reason := f.answer(r)
	if code == 0 {
		return f.next.RoundTrip(r)
	}
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"the proxy says %d","reason":%q,"code":%d}`, code, reason, code)
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func trouble(answer func(r *http.Request) (int, string)) func(*apply.Config) {
	return func(cfg *apply.Config) {
		cfg.REST.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return &troubled{next, answer} }
	}
}

func TestAnswersOfATroubledAPIServer(t *testing.T) {
	for name, test := range map[string]struct {
		code   int
		reason string
		// all says that every write is troubled, else those of one object.
		all, away bool
	}{
		"504 for one object":     {504, "Timeout", false, false},
		"500 for one object":     {500, "InternalError", false, false},
		"410 for one object":     {410, "Gone", false, false},
		"429 for all":            {429, "TooManyRequests", true, true},
		"503 for all":            {503, "ServiceUnavailable", true, true},
		"401 for all":            {401, "Unauthorized", true, true},
		"403 for all but a list": {403, "Forbidden", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, nil)
			service := newService("d1")
			b.pass(service, maps(4)...)
			var on atomic.Bool
			b.engine = b.restart(trouble(func(r *http.Request) (int, string) {
				if !on.Load() || r.Method == http.MethodGet || !test.all && !strings.HasSuffix(r.URL.Path, "/m1") {
					return 0, ""
				}
				return test.code, test.reason
			}))
			on.Store(true)
			service.TarballDigest = "d2"
			docs := []string{configMap("m0", "new"), configMap("m1", "new")}
			result, err := b.engine.Pass(t.Context(), b.permit(b.engine, service), service, objects(t, docs...))
			if (err != nil) != test.away || result.Sync != apply.SyncFailed || result.Message == "" || result.Again == 0 {
				t.Errorf("%+v %v", result, err)
			}
			if !test.away && (!strings.Contains(result.Message, "m1") || result.Applied != 1) {
				t.Errorf("%+v", result)
			}
			if n := b.count(service.Namespace); n != 4 {
				t.Errorf("%d objects stay of 4", n)
			}
			on.Store(false)
			if result = b.pass(service, docs...); result.Phase != apply.PhaseApplied || b.count(service.Namespace) != 2 {
				t.Errorf("afterwards: %+v", result)
			}
		})
	}
}

func TestOneAPIThatIsAwayHoldsOnlyWhatNeedsIt(t *testing.T) {
	now := clock.NewManual(time.Unix(1e9, 0))
	b := newBed(t, nil)
	service := newService("d1")
	b.pass(service, maps(3)...)
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	broken := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1.away.example.org"},
		"spec": map[string]any{"group": "away.example.org", "version": "v1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"insecureSkipTLSVerify": true, "service": map[string]any{"namespace": "default", "name": "nobody"}},
	}}
	if _, err := b.dynamic.Resource(services).Create(t.Context(), broken, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	remove := func() {
		_ = b.dynamic.Resource(services).Delete(t.Context(), "v1.away.example.org", metav1.DeleteOptions{})
	}
	defer remove()
	b.engine = b.restart(func(cfg *apply.Config) { cfg.Clock = now })
	service.TarballDigest = "d2"
	docs := []string{configMap("m0", "new"), "apiVersion: away.example.org/v1\nkind: Thing\nmetadata: {name: x}"}
	result := b.pass(service, docs...)
	if result.Sync != apply.SyncFailed || !strings.Contains(result.Message, "Thing") || result.Applied != 1 || b.count(service.Namespace) != 3 {
		t.Errorf("%+v", result)
	}
	now.Advance(time.Minute)
	if result = b.pass(service, docs[0]); result.Phase != apply.PhaseApplied || b.count(service.Namespace) != 1 {
		t.Errorf("without it: %+v", result)
	}
}

func TestDefinitionThatComesLateOrGoes(t *testing.T) {
	now := clock.NewManual(time.Unix(1e9, 0))
	b := newBed(t, nil)
	b.engine = b.restart(func(cfg *apply.Config) { cfg.Clock = now })
	service, owner := newService("d1"), newService("d1")
	// The API server is shared with the test's other runs.
	number := strings.TrimPrefix(service.ID, "svc-")
	docs := []string{"apiVersion: example.org/v1\nkind: Latecomer" + number + "\nmetadata: {name: l}\nspec: {size: 1}", configMap("a", "v")}
	if result := b.pass(service, docs...); result.Sync != apply.SyncFailed || !strings.Contains(result.Message, "CustomResourceDefinition") || result.Applied != 1 {
		t.Fatalf("before the definition: %+v", result)
	}
	definition := crd("latecomers"+number, "Latecomer"+number)
	if result := b.pass(owner, definition); result.Phase != apply.PhaseApplied {
		t.Fatalf("%+v", result)
	}
	now.Advance(time.Minute)
	if result := b.pass(service, docs...); result.Phase != apply.PhaseApplied {
		t.Fatalf("once it is there: %+v", result)
	}
	crds := b.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if err := crds.Delete(t.Context(), "latecomers"+number+".example.org", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, time.Minute, "the kind is not served any more", func() error {
		now.Advance(time.Minute)
		if result := b.pass(service, docs...); result.Sync != apply.SyncFailed || !strings.Contains(result.Message, "Latecomer") {
			return fmt.Errorf("%+v", result)
		}
		return nil
	})
	if _, err := b.configMap(service.Namespace, "a"); err != nil {
		t.Errorf("pruned while a kind is gone: %v", err)
	}
	eventually.For(t, time.Minute, "the definition is made again", func() error {
		if result := b.pass(owner, definition); result.Phase != apply.PhaseApplied {
			return fmt.Errorf("%+v", result)
		}
		now.Advance(time.Minute)
		if result := b.pass(service, docs...); result.Phase != apply.PhaseApplied {
			return fmt.Errorf("%+v", result)
		}
		return nil
	})
}

// A pass of many objects gives its turn back, and each step may be another
// agent's.
func TestPassIsCutIntoSteps(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	change := func(cfg *apply.Config) { cfg.Step = time.Millisecond }
	docs := maps(40)
	steps := 0
	for ; steps < 200; steps++ {
		b.engine = b.restart(change)
		result := b.pass(service, docs...)
		if result.Phase == apply.PhaseApplied {
			break
		}
		if result.Sync != apply.SyncApplying || !result.Partly || result.Again == 0 || result.Again > time.Second {
			t.Fatalf("%+v", result)
		}
	}
	if n := b.count(service.Namespace); steps < 2 || n != 40 {
		t.Errorf("%d objects after %d steps", n, steps)
	}
	mark := b.mark()
	if result := b.pass(service, docs...); result.Unchanged != 40 {
		t.Errorf("%+v", result)
	}
	if sent := b.requests(mark); len(sent) != 0 {
		t.Errorf("afterwards:\n%s", sent)
	}
}
