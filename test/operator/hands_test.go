package operator_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/operator"
	"github.com/axle-cd/axle/sdk"
)

// projectIs waits until the hub has the project with the description.
func (b *bed) projectIs(description string) {
	b.Helper()
	eventually.For(b, limit, "the hub has the description "+description, func() error {
		have, err := b.people.Projects.Get(b.Context(), request(&hubv1.GetProjectRequest{Name: "shop"}))
		if err == nil && have.Msg.GetDescription() != description {
			err = fmt.Errorf("%v", have.Msg)
		}
		return err
	})
}

// An object that is edited as fast as an API server takes it ends as it was edited last,
// and costs at most a write per edit.
func TestEditedAllTheTime(t *testing.T) {
	b := newBed(t)
	b.operate()
	b.apply(fmt.Sprintf(project, "first"))
	p := &v1alpha1.Project{ObjectMeta: meta1("shop", "")}
	b.synchronized(p)
	const edits = 300
	for i := range edits {
		b.apply(fmt.Sprintf(project, fmt.Sprintf("edit-%d", i)))
	}
	b.projectIs(fmt.Sprintf("edit-%d", edits-1))
	b.rest()
	if n := b.gate.count("Projects/Update"); n > edits {
		t.Errorf("%d updates of the hub for %d edits", n, edits)
	}
}

// Somebody who removes the finalizer gets it back: without it, the hub would keep the
// project for ever.
func TestFinalizerRemovedByHand(t *testing.T) {
	b := newBed(t)
	b.operate()
	b.apply(fmt.Sprintf(project, "first"))
	p := &v1alpha1.Project{ObjectMeta: meta1("shop", "")}
	b.synchronized(p)
	if err := b.Patch(t.Context(), p, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	eventually.For(b, limit, "the finalizer is back", func() error {
		if err := b.Get(t.Context(), key(p), p); err != nil || len(p.Finalizers) != 1 {
			return fmt.Errorf("finalizers %q, %w", p.Finalizers, err)
		}
		return nil
	})
	if n := b.gate.count("Projects/Create", "Projects/Update"); n != 1 {
		t.Errorf("%d writes of the hub", n)
	}
	b.deleted(p)
	absent(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "shop"})
}

// A controller of another product on the same CRDs is seen by the status that it
// writes. Ours keeps its hands off the object, deletions included, until the other one
// is quiet.
func TestControllerOfAnotherProduct(t *testing.T) {
	b := newBed(t)
	b.apply(fmt.Sprintf(project, "first"))
	p := &v1alpha1.Project{ObjectMeta: meta1("shop", "")}
	if err := b.Get(t.Context(), key(p), p); err != nil {
		t.Fatal(err)
	}
	id := "of-the-other-hub"
	p.Status.ID = &id
	if err := b.Status().Update(t.Context(), p, client.FieldOwner("console-operator")); err != nil {
		t.Fatal(err)
	}
	long := quick
	long.Quiet = time.Hour
	stop := b.operateWith(operator.Config{TokenFile: b.tokenFile, Timing: long})
	eventually.For(b, limit, "an event names the other controller", func() error {
		var list eventsv1.EventList
		if err := b.List(t.Context(), &list); err != nil {
			return err
		}
		if !slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool {
			return e.Reason == "OtherController" && e.Regarding.UID == p.UID && strings.Contains(e.Note, "the controller console-operator writes the status of this object")
		}) {
			return fmt.Errorf("no event about %s among %d", p.UID, len(list.Items))
		}
		return nil
	})
	if n := b.gate.count(); n != 0 {
		t.Errorf("%d calls of the hub", n)
	}
	if err := b.Get(t.Context(), key(p), p); err != nil || len(p.Finalizers) != 0 || len(p.Status.Conditions) != 0 {
		t.Errorf("finalizers %q, status %+v, %v", p.Finalizers, p.Status, err)
	}
	stop()

	short := quick
	short.Quiet = time.Millisecond
	b.operateWith(operator.Config{TokenFile: b.tokenFile, Timing: short})
	b.synchronized(p)
	b.projectIs("first")
}

// A hub that came back from an older backup gets back what was declared since. What was
// deleted since is there again: the hub says which object managed it, so that people
// find and delete it.
func TestHubRestoredFromAnOlderBackup(t *testing.T) {
	b := newBed(t)
	b.operate()
	declared := func(name, description string) string {
		return fmt.Sprintf("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: %s}\nspec: {name: %s, description: %s, reconciliation: {interval: 100ms}}", name, name, description)
	}
	b.apply(declared("shop", "first"))
	b.apply(declared("old", "deleted after the backup"))
	shop, old, young := &v1alpha1.Project{ObjectMeta: meta1("shop", "")}, &v1alpha1.Project{ObjectMeta: meta1("old", "")}, &v1alpha1.Project{ObjectMeta: meta1("new", "")}
	b.synchronized(shop)
	b.synchronized(old)
	of := hubtest.Config{DataDir: b.hub.DataDir, Hub: hubtest.HubConfig{AllowHTTPUpstreams: true}}
	backup := filepath.Join(t.TempDir(), "backup")
	if err := hubtest.Backup(t.Context(), of, backup); err != nil {
		t.Fatal(err)
	}
	b.apply(declared("shop", "second"))
	b.apply(declared("new", "made after the backup"))
	b.projectIs("second")
	b.synchronized(young)
	id := *young.Status.ID
	b.deleted(old)

	if err := b.hub.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := hubtest.Restore(t.Context(), of, backup); err != nil {
		t.Fatal(err)
	}
	b.hub = hubtest.New(t, of)
	at, err := url.Parse(b.hub.URL)
	if err != nil {
		t.Fatal(err)
	}
	b.gate.target.Store(at)
	if b.people, err = sdk.New(sdk.Config{URL: b.hub.URL, Token: b.hub.AdminToken}); err != nil {
		t.Fatal(err)
	}
	b.projectIs("second")
	eventually.For(b, limit, "the project of after the backup is there again, and its object knows it", func() error {
		have, err := b.people.Projects.Get(t.Context(), request(&hubv1.GetProjectRequest{Name: "new"}))
		if err != nil {
			return err
		}
		if err := b.Get(t.Context(), key(young), young); err != nil || *young.Status.ID != have.Msg.GetId() || have.Msg.GetId() == id {
			return fmt.Errorf("the hub has %s, before the restore it had %s, the status says %+v, %w", have.Msg.GetId(), id, young.Status, err)
		}
		return nil
	})
	left := ask(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "old"})
	if by := left.GetManagedBy(); by.GetTool() != "operator" || !strings.Contains(by.GetId(), "/old") {
		t.Errorf("the project that was deleted since is managed by %v", by)
	}
}

// A name at Kubernetes' limit works where the hub allows it, and is an error with the
// hub's limit elsewhere; nothing is half-written.
func TestNamesAtTheirLimits(t *testing.T) {
	b := newBed(t)
	b.operate()
	long := strings.Repeat("n", 253)
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: " + long + "}\nspec: {name: shop, description: first}")
	p := &v1alpha1.Project{ObjectMeta: meta1(long, "")}
	b.synchronized(p)
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: other}\nspec: {name: " + long + "}")
	other := &v1alpha1.Project{ObjectMeta: meta1("other", "")}
	b.want(other, "Synchronized", "False", "Error", "use up to 63")
	b.deleted(other)
	b.deleted(p)
	absent(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "shop"})
	if n := len(ask(b, b.people.Projects.List, &hubv1.ListProjectsRequest{}).GetProjects()); n != 1 {
		t.Errorf("%d projects, want the default one", n)
	}
}
