package hub

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/axle-cd/axle/hub/clusterapi"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// A project that a template loses gets none of its clusters any more: neither one that is
// moved nor one that is made while the template is changed. Transactions of SQLite come one after
// the other, so this is about Postgres.
func TestAProjectThatItsTemplateLosesGetsNoCluster(t *testing.T) {
	env, ctx := fleettest.New(t, storetest.Postgres(t)), t.Context()
	h := &Hub{fleet: env.Fleet}
	declared, err := objects.New(objects.Config{
		Store: env.Store, Writer: env.Store, Targets: map[string]objects.Target{"Project": {Find: h.findProject, Names: h.projectNames}},
	})
	if err != nil {
		t.Fatal(err)
	}
	kind := objects.Kind{Name: templateKind, Noun: "cluster template", Topic: "cluster_template", Prefix: "ctp_", Limit: 10}
	template := func(projects ...string) string {
		t.Helper()
		w := objects.Wanted{Name: "eks", Spec: json.RawMessage(`{}`)}
		for i, name := range projects {
			w.References = append(w.References, objects.Reference{Field: "projects", TargetKind: "Project", Name: name, Position: int64(i)})
		}
		o, _, err := declared.Apply(ctx, kind, "ann", w)
		if err != nil {
			t.Fatal(err)
		}
		return o.ID
	}
	for _, name := range []string{"shop", "lab"} {
		if _, err := env.CreateProject(ctx, "ann", fleet.NewProject{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	lab, err := env.Project(ctx, "lab")
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := env.CreateCluster(ctx, "ann", fleet.NewCluster{Name: "hosts"})
	if err != nil {
		t.Fatal(err)
	}
	origin := fleet.Origin{TemplateID: template("shop", "lab"), Template: "eks", Commit: "c", Version: "v1.37.0", Variables: "{}"}
	makes := func(name, project string, also func(context.Context) error) error {
		_, err := env.MakeCluster(ctx, "ann", fleet.MadeCluster{
			NewCluster: fleet.NewCluster{Name: name, Project: project}, ManagementID: hosts.ID, Origin: origin, Also: also,
			Builtin: fleet.Builtin{Name: "cluster-" + name, Namespace: "cluster-" + name, Version: "c", Digest: "axle1:a", Size: 9, Contained: true},
		})
		return err
	}
	if err := makes("shop-1", "shop", nil); err != nil {
		t.Fatal(err)
	}
	// meanwhile changes the template once a transaction has read it.
	looked := 0
	meanwhile := clusterapi.New(clusterapi.Config{ProjectsOf: func(ctx context.Context, origin fleet.Origin) ([]string, error) {
		ids, err := projectsOf(ctx, declared, origin)
		if looked++; looked == 1 {
			template("shop")
		}
		return ids, err
	}})
	_, err = env.MoveCluster(ctx, "ann", fleet.ClusterMove{Name: "shop-1", Project: "lab", Confirm: true, Also: func(ctx context.Context, before, after fleet.Cluster) ([]fleet.MoveChange, error) {
		return nil, meanwhile.Moving(ctx, before, after)
	}})
	if !errcode.Is(err, errcode.Forbidden) || looked != 2 {
		t.Errorf("after %d looks the cluster moved: %v", looked, err)
	}
	looked = 0
	template("shop", "lab")
	err = makes("lab-1", "lab", func(ctx context.Context) error {
		return meanwhile.Moving(ctx, fleet.Cluster{Origin: origin}, fleet.Cluster{Origin: origin, ProjectID: lab.ID, Project: lab.Name})
	})
	if !errcode.Is(err, errcode.Forbidden) || looked != 2 {
		t.Errorf("after %d looks the cluster was made: %v", looked, err)
	}
}
