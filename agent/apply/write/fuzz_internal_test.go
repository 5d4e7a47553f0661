package write

import (
	"encoding/json"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/taken"
)

// nothing is a cluster in which nothing was seen yet.
type nothing struct{ Live }

// Lookup implements Live.
func (nothing) Lookup(kubeobj.Kind, kubeobj.Ref) (kubeobj.Live, bool, bool) {
	return kubeobj.Live{}, false, false
}

// FuzzBodies reads any text as the body of a rendered object, and any as the object that the
// API server has, where a write takes the two together.
func FuzzBodies(f *testing.F) {
	live := `{"metadata":{"name":"a","resourceVersion":"7","managedFields":[{"manager":"kubectl-edit","operation":"Update","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{},"f:strategy":{"f:rollingUpdate":{}}}}}]},"spec":{"replicas":3,"strategy":{"rollingUpdate":{"maxSurge":1}}}}`
	f.Add(`{"metadata":{"name":"a","annotations":{"axle-cd.github.io/ignore-fields":"/spec/replicas"}},"spec":{"replicas":1,"strategy":{"type":"Recreate"}}}`, live)
	f.Add(`{"metadata":{"annotations":null}}`, `{"metadata":{"managedFields":[{"fieldsV1":[]},null]}}`)
	f.Add(`{"metadata":null,"spec":{"replicas":[]}}`, `null`)
	f.Add(`null`, `{"kind":"Status","status":"Failure","code":422}`)
	api := &taken.Answers{}
	sender, err := kubeclient.NewSender(&rest.Config{Host: "http://127.0.0.1:1", Transport: api}, kubeclient.NewGate(1))
	if err != nil {
		f.Fatal(err)
	}
	w := &Writer{Common: &Common{live: nothing{}}, Client: &kubeclient.Client{Sender: sender}}
	refused := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Code: 422, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeForbidden, Field: "spec.strategy.rollingUpdate", Message: "Forbidden"}}}}}
	f.Fuzz(func(t *testing.T, body, have string) {
		api.Body = have
		it := &wave.Item{Ref: kubeobj.Ref{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "a"}, Kind: kubeobj.Kind{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespaced: true}, Body: []byte(body)}
		// A body is read and written a few times on the way.
		taken.Few(t, 8*(len(body)+len(have)), func() {
			if made, err := withAnnotation(it.Body, hookRunAnnotation, "run"); err == nil && !json.Valid(made) {
				t.Errorf("%s becomes %s", body, made)
			}
			if !json.Valid(it.Body) {
				return // what was rendered is JSON
			}
			OnlyCreate(it.Body)
			if made, err := w.BodyFor(t.Context(), it); err == nil && !json.Valid(made) {
				t.Errorf("%s with %s becomes %s", body, have, made)
			}
			_, _, _ = w.withoutDefaults(t.Context(), it, it.Body, refused)
		})
	})
}
