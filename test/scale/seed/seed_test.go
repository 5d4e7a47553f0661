package seed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/seed"
)

// patience is generous: the machine may do much else.
const patience = 3 * time.Minute

func fill(t *testing.T, cfg seed.Config) *seed.Seeded {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cfg.Dir, cfg.Progress = t.TempDir(), t.Logf
	s, err := seed.Fill(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func services(t *testing.T, s *seed.Seeded) []*hubv1.Service {
	t.Helper()
	page, err := s.API.Services.List(t.Context(), connect.NewRequest(&hubv1.ListServicesRequest{PageSize: 500}))
	if err != nil {
		t.Fatal(err)
	}
	return page.Msg.GetServices()
}

func TestSmallSeedIsHealthyWithComponents(t *testing.T) {
	s := fill(t, seed.Config{Profile: "small"})
	all := services(t, s)
	if len(all) != 12 {
		t.Errorf("%d services, want 12", len(all))
	}
	for _, one := range all {
		if one.GetSync() != "Synced" || one.GetHealth() != "Healthy" || one.GetFreshness() != "Fresh" {
			t.Errorf("%s/%s is %s, %s, %s", one.GetCluster(), one.GetName(), one.GetSync(), one.GetHealth(), one.GetFreshness())
		}
	}
	got, err := s.API.Services.Get(t.Context(), connect.NewRequest(&hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "prod-eu", Name: "web"}}))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, c := range got.Msg.GetComponents() {
		kinds = append(kinds, c.GetGroup()+"/"+c.GetVersion()+" "+c.GetKind())
	}
	if want := "/v1 ConfigMap, apps/v1 Deployment, /v1 Service"; strings.Join(kinds, ", ") != want {
		t.Errorf("components %q, want %q", kinds, want)
	}
	repeatedPollsCostNothing(t, s)
}

// repeatedPollsCostNothing polls until nothing changes and then once more.
func repeatedPollsCostNothing(t *testing.T, s *seed.Seeded) {
	t.Helper()
	for range 2 {
		if err := s.Fleet.PassAll(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	before := s.Fleet.Stats()
	if err := s.Fleet.PassAll(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	after := s.Fleet.Stats()
	before.Polls += 3
	before.Unchanged += 3
	if after != before {
		t.Errorf("after an idle poll of 3 clusters %+v, want %+v", after, before)
	}
}

func TestHugeSeedShrunk(t *testing.T) {
	s := fill(t, seed.Config{Profile: "huge", Clusters: 20, Services: 60})
	all := services(t, s)
	if len(all) != 60 {
		t.Errorf("%d services, want 60", len(all))
	}
	for _, one := range all {
		if one.GetSync() != "Synced" {
			t.Errorf("%s/%s is %s: %s", one.GetCluster(), one.GetName(), one.GetSync(), one.GetMessage())
		}
	}
	if stats := s.Fleet.Stats(); stats.Tarballs == 0 || stats.Tarballs > 40 {
		t.Errorf("%d tarballs were taken; 40 folders are shared by all", stats.Tarballs)
	}
}

func TestBrokenSeedShowsEachState(t *testing.T) {
	s := fill(t, seed.Config{Profile: "broken"}) // it waits for the services by itself
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	type state struct {
		Registered, Pending bool
		Freshness           string
	}
	want := map[string]state{
		"prod": {Registered: true, Freshness: "Fresh"}, "lost": {Registered: true, Freshness: "Stale"},
		"new-site": {Registered: true, Pending: true, Freshness: "Fresh"}, "planned": {Freshness: "Unknown"},
	}
	eventually.For(t, patience, "the clusters show their states", func() error {
		got := map[string]state{}
		list, err := s.API.Clusters.List(t.Context(), connect.NewRequest(&hubv1.ListClustersRequest{}))
		if err != nil {
			return err
		}
		for _, c := range list.Msg.GetClusters() {
			got[c.GetName()] = state{c.GetRegistered(), c.GetPending(), c.GetFreshness()}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestUsedFolderIsRefused(t *testing.T) {
	s := fill(t, seed.Config{Profile: "empty"})
	_, err := seed.Fill(t.Context(), seed.Config{Profile: "empty", Dir: s.World.Dir})
	if err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("err = %v", err)
	}
}

func TestFleetKeepsPollingWhatItsActSays(t *testing.T) {
	s := fill(t, seed.Config{Profile: "empty"})
	made, err := s.API.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge"}))
	if err != nil {
		t.Fatal(err)
	}
	fleet := scale.New(scale.Config{
		URL: s.World.Hub.URL, OwnConnections: true, Interval: 50 * time.Millisecond, Dir: t.TempDir(),
		Act: func(seen scale.Seen) *agentv1.ServiceStatus {
			status := scale.Healthy(seen)
			status.Message = "as " + seen.Cluster + " has it"
			return status
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- fleet.Run(ctx) }()
	if _, err := fleet.Join(ctx, scale.Member{Token: made.Msg.GetBootstrapToken()}); err != nil {
		t.Fatal(err)
	}
	declare(t, s)
	eventually.For(t, patience, "the hub shows what the fleet's Act said", func() error {
		got := services(t, s)[0]
		if got.GetSync() != "Synced" || got.GetMessage() != "as edge has it" {
			return fmt.Errorf("%s %q; %+v", got.GetSync(), got.GetMessage(), fleet.Stats())
		}
		return nil
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func declare(t *testing.T, s *seed.Seeded) {
	t.Helper()
	git := s.World.Git
	if err := git.Create(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := git.Commit(t.Context(), "one", "main", "begin", map[string]string{"app/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.API.Repositories.Create(t.Context(), connect.NewRequest(&hubv1.CreateRepositoryRequest{Name: "one", Type: "git", Url: git.URL("one")})); err != nil {
		t.Fatal(err)
	}
	_, err := s.API.Services.Create(t.Context(), connect.NewRequest(&hubv1.CreateServiceRequest{
		Ref: &hubv1.ServiceRef{Cluster: "edge", Name: "app"}, Spec: &hubv1.ServiceSpec{Repository: "one", Git: &hubv1.Git{Ref: "main", Folder: "app"}},
	}))
	if err != nil {
		t.Fatal(err)
	}
}
