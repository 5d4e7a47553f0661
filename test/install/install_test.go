package install_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/eventually"
)

// A person installs, is logged in, has the cluster of the hub connected, and the
// operator writes what is declared there. Stock Helm goes on from the release, axle
// from Helm's, and an uninstall keeps the data for the next install.
func TestInstallUpgradeAndUninstall(t *testing.T) {
	sideBySide(t)
	b := newBed(t)
	install := []string{"install", "--kubeconfig", b.Kubeconfig(), "--values", b.values, "--email", "you@example.test"}
	out, progress, code := b.axle(install...)
	if code != 0 || !strings.Contains(out, "Axle is at "+b.url) || !strings.Contains(out, "next: axle clusters connect") {
		t.Fatalf("it ends with %d %q", code, out)
	}
	if strings.Contains(progress, "bnd_") || !strings.Contains(progress, "created the operator's service account") {
		t.Errorf("on the way it prints %s", progress)
	}
	if have := b.must("clusters", "get", "mgmt", "-o", "json"); !strings.Contains(have, `"project": "axle-system"`) {
		t.Errorf("the hub's own cluster is not in a project of administrators only: %s", have)
	}
	if have := b.must("clusters", "list"); !strings.Contains(have, "mgmt") {
		t.Errorf("clusters: %s", have)
	}
	declared := filepath.Join(t.TempDir(), "context.yaml")
	if err := os.WriteFile(declared, []byte("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceContext\nmetadata: {name: shop, namespace: axle}\nspec: {configuration: {region: north}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.kubectl("apply", "-f", declared)
	b.eventually("the operator writes the context to the hub", func() string {
		return b.kubectl("get", "servicecontexts", "shop", "-n", "axle", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	}, "True")

	// Again, with the same values: nothing to do, and nothing breaks.
	before := b.kubectl("get", "statefulset,deployment,secret", "-n", "axle", "-o", "jsonpath={.items[*].metadata.generation}")
	if out := b.must(install...); !strings.Contains(out, "Axle is at") {
		t.Errorf("the second time it ends with %q", out)
	}
	if after := b.kubectl("get", "statefulset,deployment,secret", "-n", "axle", "-o", "jsonpath={.items[*].metadata.generation}"); after != before {
		t.Errorf("the second install wrote: %s, %s", before, after)
	}
	if _, errs, code := b.axle("install", "--kubeconfig", b.Kubeconfig(), "--values", b.values, "--set", "hub.annotations.a=b"); code == 0 || !strings.Contains(errs, "axle upgrade") {
		t.Errorf("other values: %d %s", code, errs)
	}

	b.support()
	b.goOn()
	b.refusals()
	b.again(install)
}

// goOn upgrades with axle, then with stock Helm, then with axle again.
func (b *bed) goOn() {
	b.t.Helper()
	b.must("upgrade", "--kubeconfig", b.Kubeconfig(), "--set", "operator.annotations.by=axle")
	if have := b.kubectl("get", "deployment", "axle-operator", "-n", "axle", "-o", "jsonpath={.spec.template.metadata.annotations.by}"); have != "axle" {
		b.t.Errorf("axle upgrade left the annotation %q", have)
	}
	chart := "../../deploy/charts/axle"
	b.helm("upgrade", "axle", chart, "--namespace", "axle", "--reuse-values", "--set", "operator.annotations.by=helm,networkPolicy.enabled=false", "--wait")
	if have := b.kubectl("get", "networkpolicy", "-n", "axle", "-o", "name"); have != "" {
		b.t.Errorf("Helm left %s", have)
	}
	b.must("upgrade", "--kubeconfig", b.Kubeconfig(), "--set", "networkPolicy.enabled=true")
	if have := b.kubectl("get", "networkpolicy", "-n", "axle", "-o", "name"); !strings.Contains(have, "axle") {
		b.t.Errorf("axle upgrade made %q", have)
	}
	if have := b.helm("history", "axle", "--namespace", "axle"); strings.Count(have, "superseded") != 3 || strings.Count(have, "deployed") != 1 {
		b.t.Errorf("history:\n%s", have)
	}
	if have := b.kubectl("get", "deployment", "axle-operator", "-n", "axle", "-o", "jsonpath={.spec.template.metadata.annotations.by}"); have != "helm" {
		b.t.Errorf("axle upgrade lost Helm's value: %q", have)
	}
}

// refusals are upgrades that would lose data or change nothing, and leave the release.
func (b *bed) refusals() {
	b.t.Helper()
	_, errs, code := b.axle("upgrade", "--kubeconfig", b.Kubeconfig(), "--set", "database.urlSecret.name=other")
	if code == 0 || !strings.Contains(errs, "keeps its data in SQLite") {
		b.t.Errorf("another database: %d %s", code, errs)
	}
	_, errs, code = b.axle("upgrade", "--kubeconfig", b.Kubeconfig(), "--set", "operator.image.tag=none,operator.image.repository=nobody")
	if code == 0 || !regexp.MustCompile(`Error: pod axle-operator-.*axle\.test/nobody:none is not known`).MatchString(errs) {
		b.t.Errorf("an image that nobody has: %d %s", code, errs)
	}
	// The wait says every 10 s for how long: its own seconds, because how fast this machine applies the release is not the promise,
	// and some more, because the kubelet that says it is a process as well. Without the look at images it goes on for minutes.
	for _, said := range regexp.MustCompile(`waiting: .*\((\d+)s\)`).FindAllStringSubmatch(errs, -1) {
		if took, err := strconv.Atoi(said[1]); err != nil || took >= 60 {
			b.t.Errorf("after %s s the image was not named (%v)", said[1], err)
		}
	}
	b.must("upgrade", "--kubeconfig", b.Kubeconfig()) // from the last values that ran
}

// again uninstalls and installs: the data is still there. Then it deletes that too.
func (b *bed) again(install []string) {
	b.t.Helper()
	b.must("clusters", "create", "edge-1")
	out := b.must("uninstall", "--kubeconfig", b.Kubeconfig())
	if !strings.Contains(out, "data-axle-0") {
		b.t.Errorf("uninstall says %q", out)
	}
	if have := b.kubectl("get", "statefulset,deployment,service,clusterrole", "-A", "-l", "app.kubernetes.io/instance=axle", "-o", "name"); have != "" {
		b.t.Errorf("left: %s", have)
	}
	if have := b.kubectl("get", "crd", "projects.deployments.plural.sh", "-o", "name"); have == "" {
		b.t.Error("the definitions are gone")
	}
	b.must(install...)
	if have := b.must("clusters", "list"); !strings.Contains(have, "edge-1") {
		b.t.Errorf("the hub lost its data: %s", have)
	}
	b.must("uninstall", "--kubeconfig", b.Kubeconfig(), "--delete-data", "--yes")
	b.eventually("the volume is deleted", func() string { return b.kubectl("get", "pvc", "-n", "axle", "-o", "name") }, "")
	if _, errs, code := b.axle("uninstall", "--kubeconfig", b.Kubeconfig(), "--yes"); code == 0 || !strings.Contains(errs, "there is no release") {
		b.t.Errorf("a second uninstall: %d %s", code, errs)
	}
}

// eventually waits until a text is as wanted.
func (b *bed) eventually(what string, have func() string, want string) {
	b.t.Helper()
	eventually.For(b.t, limit, what, func() error {
		if text := strings.TrimSpace(have()); text != want {
			return errNot(text)
		}
		return nil
	})
}

type errNot string

func (e errNot) Error() string { return "it is " + string(e) }

// helm runs the real command, built from its module.
func (b *bed) helm(args ...string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, helmProgram(b.t), append(args, "--kubeconfig", b.Kubeconfig())...).CombinedOutput()
	b.t.Logf("helm %s\n%s", strings.Join(args, " "), out)
	if err != nil {
		b.t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
