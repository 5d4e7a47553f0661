package operator_test

import (
	"fmt"
	"strings"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

const notifications = `apiVersion: deployments.plural.sh/v1alpha1
kind: NotificationSink
metadata: {name: on-call, namespace: %[1]s}
spec:
  name: on-call-team
  type: WEBHOOK
  configuration:
    urlSecretRef: {name: hook, key: url}
    webhook: {url: "", secretRef: {name: hook, key: key}}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: NotificationRouter
metadata: {name: failures, namespace: %[1]s}
spec:
  events: [service.update, %[2]s]
  filters:
    - {serviceRef: {name: web}}
    - {cluster: edge-9, regex: /api$}
  sinks: [{name: on-call}]`

func TestNotifications(t *testing.T) {
	b := newBed(t)
	stop := b.operate()
	sink := &v1alpha1.NotificationSink{ObjectMeta: meta1("on-call", b.namespace)}
	router := &v1alpha1.NotificationRouter{ObjectMeta: meta1("failures", b.namespace)}
	b.apply(fmt.Sprintf(notifications, b.namespace, "alert.fired"))
	b.want(sink, "Synchronized", "False", "NotFound", "Secret")
	b.want(router, "Synchronized", "False", "NotFound", "ServiceDeployment")
	secret := func(url, key string) {
		b.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: hook, namespace: " + b.namespace + "}\nstringData: {url: '" + url + "', key: " + key + "}")
	}
	secret("https://hooks.example.com/services/SECRETPART", "0123456789abcdef")
	b.synchronized(sink)
	have := ask(b, b.people.NotificationSinks.Get, &hubv1.GetNotificationSinkRequest{Name: "on-call-team"})
	if have.GetHost() != "hooks.example.com" || !have.GetSigned() || have.GetManagedBy().GetTool() != "operator" || *sink.Status.ID != have.GetId() {
		t.Errorf("sink %v, status %+v", have, sink.Status)
	}
	if text := fmt.Sprint(sink.Status); strings.Contains(text, "SECRETPART") {
		t.Error(text)
	}

	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1"})
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: fleet}\nspec: {url: " + b.fleet() + "}")
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: web, namespace: " + b.namespace + "}\nspec: {name: shop, cluster: edge-1, repositoryRef: {name: fleet}, git: {ref: main, folder: web}}")
	b.synchronized(router)
	got := ask(b, b.people.NotificationRouters.Get, &hubv1.GetNotificationRouterRequest{Name: "failures"})
	if s := got.GetSettings(); len(s.GetSinks()) != 1 || s.GetSinks()[0] != "on-call-team" || s.GetFilters()[0].GetService() != "shop" || s.GetFilters()[0].GetCluster() != "edge-1" || s.GetFilters()[1].GetRegex() != "/api$" {
		t.Errorf("router %v", got)
	}
	if silent := got.GetSilentEvents(); len(silent) != 1 || silent[0] != "alert.fired" {
		t.Errorf("silent %v", silent)
	}
	b.idle(sink)
	b.idle(router)

	// Another URL comes with the key, and another event is a change.
	secret("https://other.example.com/services/SECRETPART", "fedcba9876543210")
	b.apply(fmt.Sprintf(notifications, b.namespace, "cluster.create"))
	b.synchronized(router)
	eventually.For(t, limit, "the sink has the other URL", func() error { // the Secret is no new generation of the sink
		if have := ask(b, b.people.NotificationSinks.Get, &hubv1.GetNotificationSinkRequest{Name: "on-call-team"}); have.GetHost() != "other.example.com" {
			return fmt.Errorf("it has %v", have)
		}
		return nil
	})
	b.synchronized(sink)

	b.deleted(router)
	b.deleted(sink)
	if left := ask(b, b.people.NotificationSinks.List, &hubv1.ListNotificationSinksRequest{}).GetSinks(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	stop()
}
