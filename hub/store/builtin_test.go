package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

const agentDigest = "axle1:00000000000000000000000000000000000000000000000000000000000000aa"

// installed creates a cluster whose agent can replace itself.
func (y *yard) installed(name, version string) fleet.Cluster {
	y.t.Helper()
	c := y.cluster(name)
	y.ping(c.ID, version)
	return c
}

func (y *yard) ping(clusterID, version string) {
	y.t.Helper()
	err := y.Ping(y.t.Context(), clusterID, fleet.ClusterPing{
		AgentVersion: version, KubernetesVersion: "v1.36.3", PollInterval: time.Minute.Microseconds(),
		Installation: fleet.Installation{Namespace: "axle-system", Image: "mirror:5000/axle-agent:" + version, Args: []string{"run", "--poll-interval=1m"}},
	})
	if err != nil {
		y.t.Fatal(err)
	}
	y.Seen(clusterID, y.clock.Now())
}

func payload(version string) string {
	return fanout.AgentPayload{Version: version, Digest: agentDigest, Size: 10}.Text()
}

// place places a version on clusters and returns who refused.
func (y *yard) place(agents fanout.Agents, version string, ids ...string) (refused map[string]string) {
	y.t.Helper()
	err := y.store.Write(y.t.Context(), func(ctx context.Context) (err error) {
		refused, err = agents.Place(ctx, ids, payload(version))
		return err
	})
	if err != nil {
		y.t.Fatal(err)
	}
	return refused
}

func TestAgentServiceIsTheHubsOwn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		agents := fanout.Agents{Fleet: y.Fleet}
		c, plain := y.installed("edge", "1.0.0"), y.cluster("outside")
		members, err := agents.Members(t.Context(), nil)
		if err != nil || len(members) != 1 || members[0].Name != "edge" || !members[0].Fresh || !members[0].Runs("1.0.0") {
			t.Fatalf("members are %+v, %v", members, err)
		}
		if refused := y.place(agents, "1.0.0", c.ID); len(refused) != 0 {
			t.Errorf("refused %v", refused)
		}
		ref := fleet.Ref{Cluster: "edge", Name: fanout.AgentService}
		first := y.must(y.Service(t.Context(), ref))
		want := map[string]string{
			"version": "1.0.0", "image": "mirror:5000/axle-agent:1.0.0", "namespace": "axle-system", "args": `["run","--poll-interval=1m"]`, "payload": payload("1.0.0"),
		}
		if diff := cmp.Diff(want, first.Spec.Configuration); diff != "" || first.Desired.Digest != agentDigest || first.Namespace != "axle-system" {
			t.Errorf("%s in %s, -want +got\n%s", first.Desired.Digest, first.Namespace, diff)
		}
		y.place(agents, "1.0.0", c.ID)
		if again := y.must(y.Service(t.Context(), ref)); again.Revision != first.Revision {
			t.Error("what is placed already was placed again")
		}
		y.clock.Advance(time.Second)
		y.place(agents, "2.0.0", c.ID)
		second := y.must(y.Service(t.Context(), ref))
		if second.Revision != first.Revision+1 || second.SpecDigest == first.SpecDigest || second.Spec.Configuration["image"] != "mirror:5000/axle-agent:2.0.0" {
			t.Errorf("revision %d with %v", second.Revision, second.Spec.Configuration)
		}
		_, err = y.UpdateService(t.Context(), "ann", ref, spec("mine"), nil, false)
		wantCode(t, err, errcode.Conflict)
		_, err = y.DeleteService(t.Context(), "ann", ref, false)
		wantCode(t, err, errcode.Conflict)
		_, err = y.RollbackService(t.Context(), "ann", ref, 1)
		wantCode(t, err, errcode.Conflict)
		specs, _, err := y.AgentSpecs(t.Context(), c.ID, []string{second.ID})
		if err != nil || len(specs) != 1 || specs[0].Service.Spec.Configuration["version"] != "2.0.0" || !specs[0].Service.Spec.Protect {
			t.Errorf("the agent gets %+v, %v", specs, err)
		}
		y.service("outside", fanout.AgentService)
		if refused := y.place(agents, "2.0.0", plain.ID); refused[plain.ID] == "" {
			t.Error("somebody's own service was replaced")
		}
		if err := y.DeleteCluster(t.Context(), "ann", "edge", false); err != nil {
			t.Errorf("a cluster with nothing but its agent cannot be deleted: %v", err)
		}
	})
}

func TestAgentIsJudgedByWhatItSays(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		agents := fanout.Agents{Fleet: y.Fleet}
		c := y.installed("edge", "1.0.0")
		judge := func() fanout.Verdict {
			t.Helper()
			y.clock.Advance(time.Second)
			verdicts, err := agents.Judge(t.Context(), "2.0.0", []string{c.ID})
			if err != nil {
				t.Fatal(err)
			}
			return verdicts[c.ID]
		}
		report := func(sync fleet.Sync, reason, hash string) {
			t.Helper()
			y.clock.Advance(time.Second)
			service := y.must(y.Service(t.Context(), fleet.Ref{Cluster: "edge", Name: fanout.AgentService}))
			_, err := y.StoreReports(t.Context(), fleet.ReportBatch{ClusterID: c.ID, Reports: []fleet.Report{{
				ServiceID: service.ID, NewHash: hash, Status: fleet.Status{Sync: sync, Reason: reason, Health: fleet.Healthy, Message: "cannot render"},
			}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		y.place(agents, "2.0.0", c.ID)
		if v := judge(); v.Good || v.Failed {
			t.Errorf("before it ran: %+v", v)
		}
		report(fleet.Failed, fanout.UpgradeFailed, "h1")
		if v := judge(); !v.Failed || v.Message != "edge: cannot render" {
			t.Errorf("after it said that it failed: %+v", v)
		}
		y.clock.Advance(time.Second)
		y.place(agents, "3.0.0", c.ID)
		if v := judge(); v.Failed {
			t.Errorf("what it said of the version before counts: %+v", v)
		}
		y.place(agents, "2.0.0", c.ID)
		y.ping(c.ID, "2.0.0")
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
		y.clock.Advance(time.Hour)
		if v := judge(); v.Good || v.Failed {
			t.Errorf("an hour after its last poll: %+v", v)
		}
		// A hub that has just started does not treat the whole fleet as absent.
		agents.Fleet = y.newFleet()
		if _, err := agents.Members(t.Context(), nil); !errcode.Is(err, errcode.Unavailable) {
			t.Errorf("right after a start: %v", err)
		}
		y.clock.Advance(time.Minute + time.Second)
		if members, err := agents.Members(t.Context(), nil); err != nil || len(members) != 1 || members[0].Fresh {
			t.Errorf("an interval after a start: %+v, %v", members, err)
		}
	})
}
