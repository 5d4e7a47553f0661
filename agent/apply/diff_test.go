package apply_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/difference"
	"github.com/axle-cd/axle/internal/scrub"
)

const secretDoc = "apiVersion: v1\nkind: Secret\nmetadata: {name: creds}\nstringData: {password: %s}"

func secretOf(password string) string { return strings.Replace(secretDoc, "%s", password, 1) }

func diffOf(t *testing.T, b *bed, service apply.Service, docs ...string) (map[string]difference.Difference, difference.Comparison) {
	t.Helper()
	mark := b.mark()
	c, err := b.engine.Diff(t.Context(), b.permit(b.engine, service), service, objects(t, docs...))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range b.requests(mark) {
		if e.Verb != "get" && !strings.Contains(e.URI, "dryRun=All") {
			t.Errorf("a dry run sends %s %s", e.Verb, e.URI)
		}
	}
	all := map[string]difference.Difference{}
	for _, d := range c.Differences {
		all[d.Ref.Name] = d
	}
	return all, c
}

func TestDryRunSaysWhatAnApplyWouldDo(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	if all, _ := diffOf(t, b, service, configMap("a", "v"), secretOf("hunter2hunter2")); all["a"].Action != difference.Create || all["creds"].Action != difference.Create {
		t.Errorf("before its namespace is there: %+v", all)
	}
	immutable := "immutable: true\n"
	b.pass(service, configMap("same", "v"), configMap("changed", "old"), configMap("gone", "v"), secretOf("hunter2hunter2"),
		configMap("stuck", "v")+immutable, configMap("anew", "v", `annotations: {argocd.argoproj.io/sync-options: Force=true}`)+immutable)
	b.kubectlMap(service.Namespace, "theirs")
	service.TarballDigest = "d2"
	all, c := diffOf(t, b, service, configMap("same", "v"), configMap("changed", "new"), configMap("made", "v"), configMap("theirs", "v"), secretOf("swordfish-9000"),
		configMap("stuck", "w")+immutable, configMap("anew", "w", `annotations: {argocd.argoproj.io/sync-options: Force=true}`)+immutable,
		configMap("leak", "hunter2hunter2"), jobDoc("first", "helm.sh/hook: pre-install"), "apiVersion: nowhere.example.org/v1\nkind: Thing\nmetadata: {name: x}")
	for name, want := range map[string]difference.Action{"changed": difference.Update, "made": difference.Create, "gone": difference.Hold, "creds": difference.Update,
		"theirs": difference.Refuse, "stuck": difference.Refuse, "anew": difference.Recreate, "first": difference.Run, "x": difference.Refuse, "leak": difference.Create} {
		if all[name].Action != want {
			t.Errorf("%s: %+v, want %s", name, all[name], want)
		}
	}
	if len(c.Differences) != 10 || c.Unchanged != 1 {
		t.Errorf("%d differ and %d do not", len(c.Differences), c.Unchanged)
	}
	if d := all["changed"]; !strings.Contains(d.Live, "key: old") || !strings.Contains(d.Desired, "key: new") || strings.Contains(d.Live, "managedFields") || strings.Contains(d.Live, "uid") {
		t.Errorf("what it is and would be:\n%s\n%s", d.Live, d.Desired)
	}
	if !strings.Contains(all["stuck"].Message, "data") || all["gone"].Desired != "" {
		t.Errorf("%+v", all)
	}
	creds := all["creds"]
	if creds.Desired == creds.Live || !strings.Contains(creds.Live, "[hash ") {
		t.Errorf("a secret that changes does not show:\n%s\n%s", creds.Live, creds.Desired)
	}
	for _, d := range c.Differences {
		for _, secret := range []string{"hunter2hunter2", "swordfish-9000", "aHVudGVyMmh1bnRlcjI", "c3dvcmRmaXNoLTkwMDA"} {
			if strings.Contains(d.Desired+d.Live+d.Message, secret) {
				t.Errorf("%s shows a secret:\n%s\n%s", d.Ref, d.Live, d.Desired)
			}
		}
	}
}

func TestDryRunOfAnAppliedServiceFindsNothing(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	service.Scrub = scrub.New(map[string]string{"config.x": "not-in-there"})
	b.pass(service, fourObjects, secretOf("hunter2hunter2"))
	if all, c := diffOf(t, b, service, fourObjects, secretOf("hunter2hunter2")); len(all) != 0 || c.Unchanged != 5 {
		t.Errorf("%+v", c)
	}
}
