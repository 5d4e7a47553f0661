package apply_test

import (
	"os"
	"strings"
	"testing"

	"github.com/axle-cd/axle/agent/apply"
)

// The example of docs/spec/hooks.md does what the page says.
func TestExampleOfHooks(t *testing.T) {
	th := newTheatre(t)
	service := newService("d1")
	ns := service.Namespace
	var docs []string
	for _, name := range []string{"announce", "database", "migrate"} {
		text, err := os.ReadFile("../../examples/hooks/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, strings.TrimSpace(string(text)))
	}
	result := th.pass(service, docs...)
	if th.job(ns, "migrate") == nil || th.there(ns, "shop") || !strings.Contains(result.Message, "PreSync hook") {
		t.Fatalf("first the migration: %+v", result)
	}
	th.stage.set("migrate", "Healthy")
	th.stage.set("shop", "Progressing")
	th.pass(service, docs...)
	if th.job(ns, "migrate") != nil || !th.there(ns, "shop") || !th.there(ns, "database") || th.job(ns, "announce") != nil {
		t.Fatal("then the shop, and the migration's Job is gone")
	}
	th.stage.set("shop", "Healthy")
	th.pass(service, docs...)
	th.stage.set("announce", "Healthy")
	if result = th.pass(service, docs...); th.job(ns, "announce") == nil || th.job(ns, "apologise") != nil || result.Phase != apply.PhaseApplied {
		t.Fatalf("then the announcement: %+v", result)
	}
	if _, err := th.engine.Drain(t.Context(), th.permit(th.engine, service), service); err != nil || th.job(ns, "backup") == nil || !th.there(ns, "shop") {
		t.Fatalf("a backup before it goes: %v", err)
	}
	th.stage.set("backup", "Healthy")
	if gone, err := th.engine.Drain(t.Context(), th.permit(th.engine, service), service); err != nil || !gone.Done {
		t.Fatalf("%+v %v", gone, err)
	}
}
