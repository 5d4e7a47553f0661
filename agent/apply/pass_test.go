package apply_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/kubeobj"
)

const fourObjects = `apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {key: value}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.org/web:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}`

func TestInstallNeedsFewRequestsAndNoOpNone(t *testing.T) {
	b := newBed(t, nil)
	warm := newService("d0")
	b.pass(warm, fourObjects) // discovery, once for the agent's life

	service := newService("d1")
	mark := b.mark()
	result := b.pass(service, fourObjects)
	if result.Phase != apply.PhaseApplied || result.Applied != 4 || len(result.Problems) != 0 {
		t.Fatalf("install: %+v", result)
	}
	if sent := b.requests(mark); len(sent) > 8 {
		t.Errorf("install of 4 objects takes %d requests, want at most 8:\n%s", len(sent), sent)
	}
	account, err := b.admin.CoreV1().ServiceAccounts(service.Namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if account.Labels[kubeobj.ManagedLabel] != clusterID || account.Annotations[kubeobj.ServiceAnnotation] != service.ID ||
		account.Annotations[kubeobj.TrackingAnnotation] != "/ServiceAccount/"+service.Namespace+"/web" {
		t.Errorf("marks are %v %v", account.Labels, account.Annotations)
	}

	mark = b.mark()
	for range 20 {
		if result = b.pass(service, fourObjects); result.Phase != apply.PhaseApplied || result.Unchanged != 4 {
			t.Fatalf("pass without a change: %+v", result)
		}
	}
	if sent := b.requests(mark); len(sent) != 0 {
		t.Errorf("20 passes without a change send requests:\n%s", sent)
	}
	b.engine = b.restart(nil)
	mark = b.mark()
	if result = b.pass(service, fourObjects); result.Unchanged != 4 {
		t.Errorf("after a restart: %+v", result)
	}
	if sent := b.requests(mark); len(sent) != 0 {
		t.Errorf("the first pass after a restart sends requests:\n%s", sent)
	}
}
