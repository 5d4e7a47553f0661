package fanout_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/fleet/installed"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

const agentDigest = "axle1:00000000000000000000000000000000000000000000000000000000000000aa"

// install creates a cluster whose agent can replace itself.
func install(env *fleettest.Fleet, name, version string) fleet.Cluster {
	env.T.Helper()
	c := env.AddCluster(name)
	ping(env, c.ID, version)
	return c
}

func ping(env *fleettest.Fleet, clusterID, version string) {
	env.T.Helper()
	err := env.Ping(env.T.Context(), clusterID, fleet.ClusterPing{
		AgentVersion: version, KubernetesVersion: "v1.36.3", PollInterval: time.Minute.Microseconds(),
		Installation: installed.Agent{Namespace: "axle-system", Image: "mirror:5000/axle-agent:" + version, Args: []string{"run", "--poll-interval=1m"}},
	})
	if err != nil {
		env.T.Fatal(err)
	}
	env.Seen(clusterID, env.Clock.Now())
}

func payload(version string) string {
	return fanout.AgentPayload{Version: version, Digest: agentDigest, Size: 10}.Text()
}

// place places a version on clusters and returns who refused.
func place(env *fleettest.Fleet, agents fanout.Agents, version string, ids ...string) (refused map[string]string) {
	env.T.Helper()
	err := env.Store.Write(env.T.Context(), func(ctx context.Context) (err error) {
		refused, err = agents.Place(ctx, ids, payload(version))
		return err
	})
	if err != nil {
		env.T.Fatal(err)
	}
	return refused
}

func TestAgentServiceIsTheHubsOwn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		agents := fanout.Agents{Fleet: env.Fleet}
		c, plain := install(env, "edge", "1.0.0"), env.AddCluster("outside")
		members, err := agents.Members(t.Context(), nil)
		if err != nil || len(members) != 1 || members[0].Name != "edge" || !members[0].Fresh || !members[0].Runs("1.0.0") {
			t.Fatalf("members are %+v, %v", members, err)
		}
		if refused := place(env, agents, "1.0.0", c.ID); len(refused) != 0 {
			t.Errorf("refused %v", refused)
		}
		ref := fleet.Ref{Cluster: "edge", Name: fanout.AgentService}
		first := env.Must(env.Service(t.Context(), ref))
		want := map[string]string{
			"version": "1.0.0", "image": "mirror:5000/axle-agent:1.0.0", "namespace": "axle-system", "args": `["run","--poll-interval=1m"]`, "payload": payload("1.0.0"),
		}
		if diff := cmp.Diff(want, first.Spec.Configuration); diff != "" || first.Desired.Digest != agentDigest || first.Namespace != "axle-system" {
			t.Errorf("%s in %s, -want +got\n%s", first.Desired.Digest, first.Namespace, diff)
		}
		place(env, agents, "1.0.0", c.ID)
		if again := env.Must(env.Service(t.Context(), ref)); again.Revision != first.Revision {
			t.Error("what is placed already was placed again")
		}
		env.Clock.Advance(time.Second)
		place(env, agents, "2.0.0", c.ID)
		second := env.Must(env.Service(t.Context(), ref))
		if second.Revision != first.Revision+1 || second.SpecDigest == first.SpecDigest || second.Spec.Configuration["image"] != "mirror:5000/axle-agent:2.0.0" {
			t.Errorf("revision %d with %v", second.Revision, second.Spec.Configuration)
		}
		_, err = env.UpdateService(t.Context(), "ann", ref, fleettest.Spec("mine"), nil, false)
		fleettest.WantCode(t, err, errcode.Conflict)
		_, err = env.DeleteService(t.Context(), "ann", ref, false)
		fleettest.WantCode(t, err, errcode.Conflict)
		_, err = env.RollbackService(t.Context(), "ann", ref, 1)
		fleettest.WantCode(t, err, errcode.Conflict)
		specs, _, err := env.AgentSpecs(t.Context(), c.ID, []string{second.ID})
		if err != nil || len(specs) != 1 || specs[0].Service.Spec.Configuration["version"] != "2.0.0" || !specs[0].Service.Spec.Protect {
			t.Errorf("the agent gets %+v, %v", specs, err)
		}
		// One of before the name was the hub's only.
		theirs := env.AddService("outside", "theirs")
		env.Database.Exec(t, "UPDATE services SET name = '"+fanout.AgentService+"' WHERE id = '"+theirs.ID+"'")
		if refused := place(env, agents, "2.0.0", plain.ID); refused[plain.ID] == "" {
			t.Error("somebody's own service was replaced")
		}
		if err := env.DeleteCluster(t.Context(), "ann", "edge", false); err != nil {
			t.Errorf("a cluster with nothing but its agent cannot be deleted: %v", err)
		}
	})
}

// Who changed an agent's flags by hand asks for the version that runs, and the hub's
// manifests have the flags: otherwise they would put the old ones back.
func TestChangedFlagsAreTakenOver(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		agents := fanout.Agents{Fleet: env.Fleet}
		c := install(env, "edge", "1.0.0")
		has := func() string {
			t.Helper()
			members, err := agents.Members(t.Context(), nil)
			if err != nil || len(members) != 1 {
				t.Fatalf("members are %+v, %v", members, err)
			}
			return members[0].Payload
		}
		place(env, agents, "1.0.0", c.ID)
		if got := has(); got != payload("1.0.0") {
			t.Errorf("it has %q", got)
		}
		flags := installed.Agent{Namespace: "axle-system", Image: "mirror:5000/axle-agent:1.0.0", Args: []string{"run", "--poll-interval=5m"}}
		if err := env.Ping(t.Context(), c.ID, fleet.ClusterPing{AgentVersion: "1.0.0", Installation: flags}); err != nil {
			t.Fatal(err)
		}
		if got := has(); got != "" {
			t.Errorf("with other flags it has %q", got)
		}
		place(env, agents, "1.0.0", c.ID)
		service := env.Must(env.Service(t.Context(), fleet.Ref{Cluster: "edge", Name: fanout.AgentService}))
		if got := service.Spec.Configuration["args"]; got != `["run","--poll-interval=5m"]` || has() != payload("1.0.0") {
			t.Errorf("its manifests have the flags %s", got)
		}
	})
}

func TestAgentIsJudgedByWhatItSays(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		agents := fanout.Agents{Fleet: env.Fleet}
		c := install(env, "edge", "1.0.0")
		judge := func() fanout.Verdict {
			t.Helper()
			env.Clock.Advance(time.Second)
			verdicts, err := agents.Judge(t.Context(), "2.0.0", []string{c.ID})
			if err != nil {
				t.Fatal(err)
			}
			return verdicts[c.ID]
		}
		report := func(sync fleet.Sync, reason, hash string) {
			t.Helper()
			env.Clock.Advance(time.Second)
			service := env.Must(env.Service(t.Context(), fleet.Ref{Cluster: "edge", Name: fanout.AgentService}))
			_, err := env.StoreReports(t.Context(), fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{{
				ServiceID: service.ID, NewHash: hash, Status: fleet.Status{Sync: sync, Reason: reason, Health: fleet.Healthy, Message: "cannot render"},
			}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		place(env, agents, "2.0.0", c.ID)
		if v := judge(); v.Good || v.Failed {
			t.Errorf("before it ran: %+v", v)
		}
		report(fleet.Failed, fanout.UpgradeFailed, "h1")
		if v := judge(); !v.Failed || v.Message != "edge: cannot render" {
			t.Errorf("after it said that it failed: %+v", v)
		}
		env.Clock.Advance(time.Second)
		place(env, agents, "3.0.0", c.ID)
		if v := judge(); v.Failed {
			t.Errorf("what it said of the version before counts: %+v", v)
		}
		place(env, agents, "2.0.0", c.ID)
		ping(env, c.ID, "2.0.0")
		if v := judge(); !v.Good {
			t.Errorf("when it polls and runs it: %+v", v)
		}
		report(fleet.Applying, "Upgrading", "h2")
		if v := judge(); v.Good || v.Failed {
			t.Errorf("while the new agent is not installed: %+v", v)
		}
		report(fleet.Synced, "", "h3")
		if v := judge(); !v.Good {
			t.Errorf("when it is: %+v", v)
		}
		env.Clock.Advance(time.Hour)
		if v := judge(); v.Good || v.Failed {
			t.Errorf("an hour after its last poll: %+v", v)
		}
		// A hub that has just started does not treat the whole fleet as absent.
		agents.Fleet = env.Again()
		if _, err := agents.Members(t.Context(), nil); !errcode.Is(err, errcode.Unavailable) {
			t.Errorf("right after a start: %v", err)
		}
		env.Clock.Advance(time.Minute + time.Second)
		if members, err := agents.Members(t.Context(), nil); err != nil || len(members) != 1 || members[0].Fresh {
			t.Errorf("an interval after a start: %+v, %v", members, err)
		}
	})
}

// Nothing limits the agents' own service: it is for the whole cluster, and
// fixes the agents that obey limits.
func TestLimitsLeaveTheHubsOwnServiceAlone(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		if _, err := env.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop"}); err != nil {
			t.Fatal(err)
		}
		c, err := env.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: "edge-1", Project: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		env.EnrollCluster(c.ID)
		ping(env, c.ID, "1.0.0")
		agents := fanout.Agents{Fleet: env.Fleet}
		if refused := place(env, agents, "1.1.0", c.ID); len(refused) > 0 {
			t.Fatal(refused)
		}
		service := func() fleet.ServiceView {
			t.Helper()
			return env.Must(env.Service(t.Context(), fleet.Ref{Cluster: "edge-1", Name: fanout.AgentService}))
		}
		was := service()
		for _, project := range []string{"default", "shop"} {
			limits := fleet.Limits{Namespaces: []string{"a"}, Kinds: []string{"ConfigMap"}}
			if _, err := env.UpdateProject(t.Context(), "ann", project, fleet.ProjectChange{Limits: &limits}); err != nil {
				t.Fatal(err)
			}
		}
		night := fleet.SyncWindow{Kind: "deny", Schedule: "0 22 * * *", Duration: "8h"}
		if err := env.SetSyncWindows(t.Context(), "ann", []fleet.SyncWindow{night}); err != nil {
			t.Fatal(err)
		}
		if err := env.SettleLimits(t.Context()); err != nil {
			t.Fatal(err)
		}
		if now := service(); now.SpecDigest != was.SpecDigest || !now.Limits.Zero() || now.Project != fleet.DefaultProject {
			t.Errorf("digest %s, was %s; %+v of project %s", now.SpecDigest, was.SpecDigest, now.Limits, now.Project)
		}
	})
}
