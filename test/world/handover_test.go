package world_test

import (
	"fmt"
	"testing"

	"github.com/axle-cd/axle/test/kube"
)

// TestObjectsMoveIntoServicesThatCannotTakeThem moves an object in one commit
// into a service that is broken, paused, or waits for another one. It stays
// where it is, the one that gives it up says for whom it waits, and it moves as
// it is when it can: the API server's audit log has no delete of it. The commits
// that broke something are reverted, and all is as before.
func TestObjectsMoveIntoServicesThatCannotTakeThem(t *testing.T) {
	t.Parallel()
	s := newStage(t, "edge-1")
	kubectl := func(args ...string) {
		s.t.Helper()
		_, err := s.Kubectl(s.t.Context(), "edge-1", args...)
		s.must(err)
	}
	kubectl("create", "namespace", "moves")
	create := func(name string, more ...string) {
		s.t.Helper()
		s.axle(append([]string{"services", "create", "edge-1/" + name, "--repo", "fleet", "--ref", "main", "--folder", name, "--namespace", "moves", "--create-namespace=false"}, more...)...)
	}
	for _, story := range []struct {
		name string
		// heir is the content of the heir's folder, besides the object, in the commit
		// of the move; before is what keeps it from taking the object.
		heir        string
		before, end func(name string)
		says        string
	}{
		{"broken", "kind: [", nil, nil, "heir.yaml"},
		{"paused", "", func(heir string) { s.axle("services", "pause", "edge-1/"+heir) }, func(heir string) { s.axle("services", "resume", "edge-1/"+heir) }, "it is paused"},
		{"gated", "", func(heir string) { s.axle("services", "update", "edge-1/"+heir, "--depends-on", "nobody") },
			func(heir string) { s.axle("services", "update", "edge-1/"+heir, "--depends-on", "") }, "nobody"},
	} {
		loser, heir, object := "loser-"+story.name, "heir-"+story.name, "moved-"+story.name
		moved := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n", object)
		own := func(name string) string {
			return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n", name)
		}
		files := func(at, more string) map[string]string {
			all := map[string]string{loser + "/loser.yaml": own(loser), heir + "/own.yaml": own(heir), heir + "/heir.yaml": more,
				loser + "/moved.yaml": "# It is elsewhere.\n", heir + "/moved.yaml": "# It is elsewhere.\n"}
			all[at+"/moved.yaml"] = moved
			return all
		}
		s.commitFiles("fleet", story.name+": at first", files(loser, own(heir+"-2")))
		for _, name := range []string{loser, heir} {
			create(name)
			s.axle("services", "wait", "edge-1/"+name, "--timeout", "5m")
		}
		before, err := s.get("edge-1", "moves", object)
		s.must(err)
		if story.before != nil {
			story.before(heir)
		}
		more := story.heir
		if more == "" {
			more = own(heir + "-2")
		}
		s.commitFiles("fleet", story.name+": it moves", files(heir, more))
		s.state("edge-1", loser, "waits for service "+heir, story.says)
		s.same("edge-1", "moves", object, before.Metadata.UID)
		if story.end != nil {
			story.end(heir)
		} else {
			s.commitFiles("fleet", story.name+": mended", map[string]string{heir + "/heir.yaml": own(heir + "-2")})
		}
		for _, name := range []string{heir, loser} {
			s.axle("services", "wait", "edge-1/"+name, "--timeout", "5m")
		}
		s.same("edge-1", "moves", object, before.Metadata.UID)
		s.ownedBy(object, heir)
	}

	// A broken commit, and its revert.
	s.commitFiles("fleet", "broken", map[string]string{"heir-broken/heir.yaml": "kind: ["})
	s.state("edge-1", "heir-broken", "Failed", "heir.yaml")
	s.commitFiles("fleet", "reverted", map[string]string{"heir-broken/heir.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: heir-broken-2}\n"})
	s.state("edge-1", "heir-broken", "Synced")

	// A part of a service that is left out: nothing goes, and it says which.
	s.commitFiles("fleet", "parts", map[string]string{"parts/one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n", "parts/sub/two.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n"})
	create("parts")
	s.axle("services", "wait", "edge-1/parts", "--timeout", "5m")
	two, err := s.get("edge-1", "moves", "two")
	s.must(err)
	s.commitFiles("fleet", "a chart in it", map[string]string{"parts/sub/Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n"})
	s.state("edge-1", "parts", "Held PartLeftOut", "left out: sub: the folder is a Helm chart", "approve-prune")
	s.same("edge-1", "moves", "two", two.Metadata.UID)

	events, err := s.Cluster("edge-1").Audit()
	s.must(err)
	for _, e := range events.ByUser("axle-agent") {
		if e.Verb == "delete" && e.Object.Resource == "configmaps" {
			t.Errorf("something was deleted: %s", kube.AuditEvents{e})
		}
	}
}

// ownedBy waits until an object says that it belongs to a service.
func (s *stage) ownedBy(object, service string) {
	s.t.Helper()
	owner := func(name string) (string, error) {
		o, err := s.get("edge-1", "moves", name)
		return o.Metadata.Annotations["axle-cd.github.io/service"], err
	}
	s.eventual(object+" belongs to "+service, func() error {
		id, err := owner(service)
		if err != nil {
			return err
		}
		got, err := owner(object)
		if err == nil && (got == "" || got != id) {
			err = fmt.Errorf("it belongs to %q, not %q", got, id)
		}
		return err
	})
}
