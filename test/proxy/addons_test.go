package proxy_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
)

// addonsCheck is the check of add-ons in an answer.
func addonsCheck(answer *hubv1.ReadinessResponse) *hubv1.ReadinessCheck {
	for _, c := range answer.GetChecks() {
		if c.GetName() == "addons" {
			return c
		}
	}
	return nil
}

// verdicts are the add-ons of an answer with their verdicts.
func verdicts(answer *hubv1.ReadinessResponse) string {
	var all []string
	for _, one := range addonsCheck(answer).GetAddons() {
		all = append(all, one.GetName()+" "+one.GetVersion()+" "+one.GetVerdict())
	}
	return strings.Join(all, ", ")
}

// clusterRole makes what a release has in the cluster as a whole.
func (r *readied) clusterRole(namespace, release, label string) {
	r.t.Helper()
	must(r.t)(r.api.RbacV1().ClusterRoles().Create(r.t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
		Name: release, Labels: map[string]string{"helm.sh/chart": label}, Annotations: map[string]string{"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace},
	}}, metav1.CreateOptions{}))
	r.t.Cleanup(func() { _ = r.api.RbacV1().ClusterRoles().Delete(r.t.Context(), release, metav1.DeleteOptions{}) })
}

// addons is about a release with an object of the cluster as a whole: nothing is known of it, a
// matrix makes it known, and records of others change neither.
func (r *readied) addons(t *testing.T) {
	namespace, tenant := r.kube.Namespace(t), r.kube.Namespace(t)
	r.release(namespace, "mesh", 1, "deployed", "")
	r.clusterRole(namespace, "mesh", "mesh-chart-1.2.1")
	answer := r.ask(r.client, "1.37")
	if answer.GetResult() != "Unknown" || verdicts(answer) != "mesh-chart 1.2.1 AddonUnknown" || strings.Join(found(answer), " ") != "addons mesh" {
		t.Errorf("nothing is known: %s, %s, %v", answer.GetResult(), verdicts(answer), addonsCheck(answer))
	}
	r.declare(t)
	answer = r.ask(r.client, "1.37")
	if answer.GetResult() != "Ready" || verdicts(answer) != "mesh-chart 1.2.1 Compatible" {
		t.Errorf("a matrix: %s, %v", answer.GetResult(), addonsCheck(answer))
	}

	// A tenant's record is no add-on, whatever it calls itself and whatever its chart takes.
	r.release(tenant, "mesh", 9, "deployed", "")
	r.release(tenant, "shop", 1, "deployed", "")
	answer = r.ask(r.client, "1.37")
	last := answer.GetChecks()[len(answer.GetChecks())-1]
	if answer.GetResult() != "Ready" || verdicts(answer) != "mesh-chart 1.2.1 Compatible" {
		t.Errorf("records of a tenant: %s, %v", answer.GetResult(), addonsCheck(answer))
	}
	if last.GetName() != "charts" || last.GetState() != "Warning" || len(last.GetFindings()) != 1 || last.GetFindings()[0].GetNamespace() != tenant {
		t.Errorf("the charts of a tenant: %v", last)
	}
	// Whoever may write Secrets where an add-on is does not choose its version.
	r.release(namespace, "mesh", 2, "deployed", "")
	answer = r.ask(r.client, "1.37")
	if answer.GetResult() != "Unknown" || verdicts(answer) != "mesh-chart 1.2.2 VersionUnknown" || !strings.Contains(addonsCheck(answer).String(), "have the label mesh-chart-1.2.1") {
		t.Errorf("a record that its objects contradict: %s, %v", answer.GetResult(), addonsCheck(answer))
	}
	// Nor does it hide one by a record that nobody can read.
	r.record(namespace, "mesh", 3, "deployed", bytes.Repeat([]byte(" "), 20<<20))
	answer = r.ask(r.client, "1.37")
	if answer.GetResult() != "Unknown" || verdicts(answer) != "mesh-chart 1.2.1 Compatible" || !strings.Contains(answer.String(), "mesh in "+namespace+" cannot be read") {
		t.Errorf("a record that nobody can read: %s, %s", answer.GetResult(), answer)
	}
	for _, of := range []string{namespace, tenant} {
		if err := r.api.CoreV1().Secrets(of).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "owner=helm"}); err != nil {
			t.Fatal(err)
		}
	}
	answer = r.ask(r.client, "1.37") // the objects are still there
	if verdicts(answer) != "mesh-chart 1.2.1 Compatible" {
		t.Errorf("without a record: %v", addonsCheck(answer))
	}
	if err := r.api.RbacV1().ClusterRoles().Delete(t.Context(), "mesh", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// declare completes the skeleton that the page's command prints, and applies it as the page does.
func (r *readied) declare(t *testing.T) {
	file := filepath.Join(r.folder, "matrices.yaml")
	if out, errs, err := r.page(1); err != nil {
		t.Fatalf("the skeleton: %v\n%s%s", err, out, errs)
	}
	out, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(out), "name: mesh-chart") || !strings.Contains(string(out), `"1.36"`) {
		t.Fatalf("the skeleton: %v\n%s", err, out)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(out), `- "1.36"`, "- \"1.36\"\n    - \"1.37\"", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, err := r.page(2); err != nil || !strings.Contains(out, "mesh-chart") {
		t.Fatalf("the completed skeleton: %v\n%s%s", err, out, errs)
	}
	eventually.For(t, limit, "the skeleton has nothing more", func() error {
		out, errs, err := r.command(r.axle, "clusters", "readiness", "edge", "--to", "1.37", "--skeleton")
		if err == nil && out != "" {
			err = fmt.Errorf("it is %s%s", out, errs)
		}
		return err
	})
}
