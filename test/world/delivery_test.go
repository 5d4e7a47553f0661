package world_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/world"
)

// onlyWatches returns an error when the agent asked for more than the opening
// of watches.
func onlyWatches(events kube.AuditEvents) error {
	requests := events.ByUser("axle-agent").Requests()
	var bad []string
	for _, e := range requests {
		if e.Verb != "watch" {
			bad = append(bad, e.Verb+" "+e.URI)
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d requests: %s", len(bad), strings.Join(bad, ", "))
	}
	return nil
}

func TestNothingChangedMakesNoRequests(t *testing.T) {
	t.Parallel()
	s := newStage(t, "edge")
	s.deploy("edge", "app", "app")
	s.commit("second", "second")
	s.deploy("edge", "second", "second")
	s.rest() // from what the deployments set in motion
	cluster := s.Cluster("edge")
	// So are the served APIs: they are read again up to four times after their last
	// event, the last time after 16 s, and a starting agent has events.
	eventually.For(t, within, "the agent's start to come to rest", func() error {
		events, err := cluster.Audit()
		if err != nil {
			return err
		}
		for _, e := range events.ByUser("axle-agent").Requests() {
			if age := time.Since(e.Received); e.Verb != "watch" && age < 20*time.Second {
				return fmt.Errorf("%s %s was %v ago", e.Verb, e.URI, age)
			}
		}
		return nil
	})
	mark, err := cluster.AuditMark()
	s.must(err)
	s.polls(20)
	events, err := cluster.AuditSince(mark)
	s.must(err)
	if err := onlyWatches(events); err != nil {
		t.Errorf("20 polls that found nothing made %v", err)
	}

	// The silence is not deafness: the same agent puts a deleted object back.
	result, err := s.Kubectl(t.Context(), "edge", "delete", "configmap", "one", "-n", "app")
	if err != nil {
		t.Fatal(err, result)
	}
	s.says("edge", "app", "1")

	// The judge itself: one request as the agent is seen.
	mark, err = cluster.AuditMark()
	s.must(err)
	kubeconfig, err := cluster.KubeconfigFor("axle-agent", "system:masters")
	s.must(err)
	if out, err := exec.CommandContext(t.Context(), "kubectl", "--kubeconfig", kubeconfig, "get", "configmap", "one", "-n", "app").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	events, err = cluster.AuditSince(mark)
	s.must(err)
	if onlyWatches(events) == nil {
		t.Error("a request as the agent was not noticed: the test proves nothing")
	}
}

// neverBack returns an error when a sequence of words goes down.
func neverBack(words []int) error {
	for i := 1; i < len(words); i++ {
		if words[i] < words[i-1] {
			return fmt.Errorf("went from %d back to %d", words[i-1], words[i])
		}
	}
	return nil
}

func TestRevisionsNeverGoBack(t *testing.T) {
	if neverBack([]int{1, 3, 2}) == nil {
		t.Fatal("the judge does not see a step back")
	}
	t.Parallel()
	s := newStage(t, "edge")
	s.deploy("edge", "app", "app")
	s.proxy.Replay(true)
	var seen []int
	for n := 2; n <= 6; n++ {
		s.commit("app", strconv.Itoa(n))
		eventually.For(t, within, fmt.Sprintf("the cluster says %d", n), func() error {
			o, err := s.get("edge", "app", "one")
			if err != nil {
				return err
			}
			word, err := strconv.Atoi(o.Data["word"])
			if err != nil {
				return err
			}
			if seen = append(seen, word); word != n {
				return fmt.Errorf("it says %d", word)
			}
			return nil
		})
		if n == 4 {
			// A restarted agent has only its disk to tell old from new.
			s.must(s.agents["edge"].Kill())
			s.must(s.agents["edge"].Start())
		}
	}
	for range 10 {
		s.polls(1)
		o, err := s.get("edge", "app", "one")
		s.must(err)
		word, err := strconv.Atoi(o.Data["word"])
		s.must(err)
		seen = append(seen, word)
	}
	if err := neverBack(seen); err != nil {
		t.Errorf("%v in %v", err, seen)
	}
	if replayed := s.proxy.Replayed(); len(replayed) < 2 {
		t.Errorf("only these were answered with older answers: %v", replayed)
	}
	s.proxy.Replay(false)
	s.axle("services", "wait", "edge/app", "--timeout", "5m")
}

func TestAbsenceNeverDeletes(t *testing.T) {
	t.Parallel()
	s := newStage(t, "edge")
	s.deploy("edge", "app", "app")
	s.commit("other", "other")
	s.deploy("edge", "other", "other")
	before, err := s.get("edge", "app", "one")
	s.must(err)

	// The rows vanish without a tombstone, as a bug or a hand would do it.
	s.must(s.Hub.Stop(t.Context()))
	database, err := filepath.Glob(filepath.Join(s.Hub.DataDir, "*.db"))
	s.must(err)
	if len(database) != 1 {
		t.Fatalf("databases: %v", database)
	}
	out, err := exec.CommandContext(t.Context(), "sqlite3", database[0], "DELETE FROM services WHERE name = 'app'").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.must(s.Hub.Start(t.Context()))
	s.commit("other", "other again")
	s.says("edge", "other", "other again") // a list without the service has arrived
	s.rest()
	s.same("edge", "app", "one", before.Metadata.UID)

	// The judge: a tombstone does delete.
	s.axle("services", "delete", "edge/other", "--timeout", "5m")
	if _, err := s.get("edge", "other", "one"); err == nil {
		t.Error("a deleted service's object is still there: the test proves nothing")
	}
}

func TestLostReportResyncs(t *testing.T) {
	t.Parallel()
	s := newStage(t, "edge")
	s.deploy("edge", "app", "app")
	for n, drop := range []world.Drop{world.DropRequest, world.DropAnswer} {
		s.proxy.Lose("/Report", drop)
		before := s.proxy.Count("/Report")
		word := "lost" + strconv.Itoa(n)
		commit := s.commit("app", word)
		s.says("edge", "app", word)
		eventually.For(t, within, "a report is lost", func() error {
			if s.proxy.Count("/Report") == before {
				return fmt.Errorf("none was sent")
			}
			return nil
		})
		if drop == world.DropRequest {
			// The judge: while reports are lost the hub cannot know.
			//rest: no report arrives, however long one waits
			service, err := s.Service(t.Context(), "edge", "app")
			s.must(err)
			if service.AppliedRevision == commit {
				t.Error("the hub knows of a report that it never got")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if s.AtRest(ctx) == nil {
				t.Error("it is at rest, and the hub has no report")
			}
			cancel()
		}
		s.proxy.Lose("/Report", world.DropNothing)
		s.rest()
		service, err := s.Service(t.Context(), "edge", "app")
		s.must(err)
		if service.AppliedRevision != commit || service.Sync != "Synced" {
			t.Errorf("at rest, the hub has %s, not %s: %s", service.AppliedRevision, commit, service.Text())
		}
	}
}

func TestKillsDuringDeliveryConverge(t *testing.T) {
	t.Parallel()
	s := newStage(t, "edge", "mile")
	for _, cluster := range []string{"edge", "mile"} {
		s.deploy(cluster, "app", "app")
	}
	before, err := s.get("edge", "app", "two")
	s.must(err)
	for n := 2; n <= 7; n++ {
		s.commit("app", strconv.Itoa(n))
		// Anywhere between the fetch and the report.
		s.must(jitter.Wait(t.Context(), time.Duration(rand.IntN(4000))*time.Millisecond))
		if n%2 == 0 {
			s.must(s.Hub.Kill())
			s.must(s.Hub.Start(t.Context()))
		} else {
			s.must(s.agents["edge"].Kill())
			s.must(s.agents["edge"].Start())
		}
	}
	for _, cluster := range []string{"edge", "mile"} {
		s.says(cluster, "app", "7")
	}
	s.axle("services", "wait", "--all", "--timeout", "5m")
	s.same("edge", "app", "two", before.Metadata.UID)
}
