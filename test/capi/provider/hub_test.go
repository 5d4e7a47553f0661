package provider_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/capi"
)

// A cluster that the hub makes of the template by the agent of the management cluster is a
// real API server, whose own agent connects without anybody's hand and delivers. Destroying it
// leaves nothing on the management cluster.
func byTheHub(t *testing.T, b *bed) {
	w, ctx := b.world, t.Context()
	axle := func(args ...string) string {
		t.Helper()
		result, err := w.Axle(ctx, args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(result.Out)
	}
	files, kinds, err := capi.Template("bed")
	b.must(err)
	files["bed/template.yaml"] += `  - {name: crowd, when: after, expression: "status.workers.readyReplicas > 100", message: There are too few workers.}
`
	files["bed/class/clusterclass.yaml"] = strings.Replace(files["bed/class/clusterclass.yaml"], "nodeStartupTimeoutSeconds: 600", "nodeStartupTimeoutSeconds: 30", 1)
	files["app/one.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {word: delivered}\n"
	b.must(w.Git.Create(ctx, "fleet"))
	_, err = w.Git.Commit(ctx, "fleet", "main", "a template", files)
	b.must(err)
	axle("repos", "add", "fleet", w.Git.URL("fleet"))
	axle("clusters", "templates", "apply", "bed", "--repository", "fleet", "--ref", "main", "--folder", "bed", "--kinds", strings.Join(kinds, ","), "--management-clusters", management)

	axle("clusters", "create", "edge", "--template", "bed", "--set", "region=us", "--on", management)
	origin := func(field string) string {
		return axle("clusters", "get", "edge", "-o", "jsonpath={.origin."+field+"}")
	}
	b = b.of(t, origin("namespace"), "edge")
	b.wait(1, "v1.36.3")
	// What the core and its webhooks add to the objects is no drift.
	service := management + "/" + origin("service")
	axle("services", "wait", service, "--timeout", "2m")

	shows := func(what string, want ...string) {
		t.Helper()
		eventually.For(t, 3*time.Minute, what, func() error {
			text := strings.Join(strings.Fields(axle("clusters", "get", "edge")), " ")
			for _, one := range want {
				if !strings.Contains(text, one) {
					return fmt.Errorf("it lacks %q: %s", one, text)
				}
			}
			return nil
		})
	}
	shows("the cluster in the hub", "State: Fresh", "Phase: Provisioned", "Pools: workers: 1/1 ready, 1 up to date, v1.36.3",
		"Checks: There are too few workers. (check crowd of the template) ") // and no other
	// The core counts the machines of a pool before it says that the pool runs.
	eventually.For(t, time.Minute, "the pools in the hub", func() error {
		if pools := strings.Join(strings.Fields(axle("clusters", "pools", "list", "edge")), " "); !strings.Contains(pools, " workers 1 1 1 1 Running v1.36.3") {
			return fmt.Errorf("they are %q", pools)
		}
		return nil
	})
	b.provider.Strand()
	axle("clusters", "pools", "scale", "edge", "workers", "--replicas", "2")
	b.joinsNever(axle)
	b.wait(2, "v1.36.3")
	shows("the pool that was scaled", "Pools: workers: 2/2 ready, 2 up to date, v1.36.3")
	b.replaces(axle)
	b.wait(2, "v1.36.3")
	machine, err := b.client.Resource(machines).Namespace(b.namespace).List(ctx, metav1.ListOptions{})
	b.must(err)
	eventually.For(t, time.Minute, "the machine in the hub", func() error {
		text := axle("clusters", "machines", "list", "edge", "-o", "json")
		for _, one := range []string{machine.Items[0].GetName(), string(machine.Items[0].GetUID()), `"Running"`, `"workers"`} {
			if !strings.Contains(text, one) {
				return fmt.Errorf("it lacks %q: %s", one, text)
			}
		}
		return nil
	})
	axle("services", "create", "edge/web", "--repo", "fleet", "--ref", "main", "--folder", "app", "--namespace", "web")
	axle("services", "wait", "edge/web", "--timeout", "3m")
	workload, err := kubernetes.NewForConfig(b.provider.Cluster(b.namespace, "edge").Config())
	b.must(err)
	delivered, err := workload.CoreV1().ConfigMaps("web").Get(ctx, "one", metav1.GetOptions{})
	if err != nil || delivered.Data["word"] != "delivered" {
		t.Errorf("the service wrote %v: %v", delivered.Data, err)
	}

	h := held{b, workload}
	h.fill()
	h.cleans(axle, func() {
		b.must(workload.CoreV1().Pods("axle-system").DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{}))
		b.must(w.Hub.Kill())
		b.must(w.Hub.Start(ctx))
	})
	eventually.For(t, 3*time.Minute, "the cluster leaves the hub", func() error {
		if left := axle("clusters", "list", "-o", "name"); strings.Contains(left, "edge") {
			result, err := w.Axle(ctx, "services", "get", service, "-o", "json") // which may just have gone
			return fmt.Errorf("the hub has %s, and of service %s: %s %v", left, service, result.Out, err)
		}
		return nil
	})
	eventually.For(t, 2*time.Minute, "the end of the namespace", func() error {
		_, err := b.core.CoreV1().Namespaces().Get(ctx, b.namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there: %w", err)
	})
	b.must(b.left())
}
