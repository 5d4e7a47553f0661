package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/agent/ignore"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

// patched is the manager of a program that writes our fields.
const patched = "fleet-operator"

func deployment(name, image string, replicas string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:%[3]s
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: app, image: "example.org/app:%[2]s"}]}`, name, image, replicas)
}

const (
	two    = "\n  replicas: 2"
	scaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: auto}
spec:
  minReplicas: 3
  maxReplicas: 9
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: auto}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]`
	migration = `apiVersion: batch/v1
kind: Job
metadata: {name: migration}
spec:
  ttlSecondsAfterFinished: 1
  template:
    spec: {restartPolicy: Never, containers: [{name: job, image: "example.org/job:1"}]}`
)

func (p *pair) replicas(s apply.Service, name string) int32 {
	p.t.Helper()
	d, err := p.admin.AppsV1().Deployments(s.Namespace).Get(p.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return *d.Spec.Replicas
}

func (p *pair) patch(s apply.Service, name, manager, body string) {
	p.t.Helper()
	_, err := p.admin.AppsV1().Deployments(s.Namespace).Patch(p.t.Context(), name, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		p.t.Fatal(err)
	}
}

// writes counts the changes that the pair made to objects, inventories left out.
func (p *pair) writes(mark int64, resource string) (all kube.AuditEvents) {
	p.t.Helper()
	for _, e := range p.requests(mark) {
		if e.Verb != "get" && e.Verb != "list" && !strings.Contains(e.URI, "axle-inventory") && strings.Contains(e.URI, resource) {
			all = append(all, e)
		}
	}
	return all
}

// An autoscaler, a Job with a time to live and an ignored field are left alone:
// for an hour, by a new revision, and by an agent that starts again.
func TestAnHourLeavesAloneWhatOthersOwn(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{Controllers: true, Kwok: true, Audit: true})
	now := clock.NewManual(time.Now())
	p, stop := startAt(t, now, cluster, "agent", "system:masters")
	s := service("hour")
	s.Ignore = []ignore.Rule{{Kind: "Deployment", Name: "manual", Paths: []string{"/spec/replicas"}}}
	at := func(image, manual string) string {
		return strings.Join([]string{deployment("auto", image, two), deployment("manual", image, manual), deployment("plain", image, two), scaler, migration}, "\n---\n")
	}
	settled := func(what string, manifests string) {
		t.Helper()
		eventually.For(t, patience, what, func() error {
			now.Advance(time.Second)
			if result := p.pass(s, manifests); result.Sync != apply.SyncSynced {
				return fmt.Errorf("%+v", result)
			}
			if all := p.watcher.Findings(s.ID); len(all) > 0 {
				return fmt.Errorf("%+v", all)
			}
			return nil
		})
	}
	settled("the installation", at("1", two))
	p.patch(s, "manual", patched, `{"spec":{"replicas":12}}`)
	eventually.For(t, patience, "the autoscaler scaled and the Job went", func() error {
		if n := p.replicas(s, "auto"); n != 3 {
			return fmt.Errorf("auto has %d", n)
		}
		_, err := p.admin.BatchV1().Jobs(s.Namespace).Get(t.Context(), "migration", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the Job is there"), err)
		}
		return nil
	})
	settled("what others did", at("1", two))

	mark := p.mark()
	for range 60 {
		now.Advance(time.Minute)
		p.pass(s, at("1", two))
	}
	if all := p.watcher.Findings(s.ID); len(all) > 0 {
		t.Errorf("after an hour: %+v", all)
	}
	if sent := p.writes(mark, ""); len(sent) > 0 {
		t.Errorf("an hour without a change wrote:\n%s", sent)
	}
	check := func(when string, auto, manual int32) {
		t.Helper()
		if a, m := p.replicas(s, "auto"), p.replicas(s, "manual"); a != auto || m != manual {
			t.Errorf("%s: auto has %d replicas, want %d; manual has %d, want %d", when, a, auto, m, manual)
		}
	}
	check("after an hour", 3, 12)

	s.TarballDigest = "axle1:2"
	settled("a new revision", at("2", two))
	check("after a new revision", 3, 12)
	stop()
	p, _ = startAt(t, now, cluster, "agent", "system:masters")
	s.TarballDigest = "axle1:3"
	settled("a new revision after a restart", at("3", ""))
	check("once Git does not name the field any more", 3, 12)

	// Without a rule the field is removed with its owner, and a default comes back.
	p.patch(s, "plain", "kubectl-scale", `{"metadata":{"annotations":{"a":"b"}}}`)
	s.TarballDigest, s.Ignore = "axle1:4", nil
	settled("the rule is gone", strings.Replace(at("4", two), deployment("plain", "4", two), deployment("plain", "4", ""), 1))
	if n := p.replicas(s, "plain"); n != 1 {
		t.Errorf("a field that was left out has %d, want the default", n)
	}
	if n := p.replicas(s, "manual"); n != 2 {
		t.Errorf("without its rule the field has %d, want Git's 2", n)
	}
}

// An object that somebody else changes after each heal is written at most ten times
// in ten minutes, by heals and passes together, and its finding names the other
// writer.
func TestContestedObjectIsWrittenAtMostTenTimesInTenMinutes(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{Audit: true})
	now := clock.NewManual(time.Now())
	p, _ := startAt(t, now, cluster, "agent", "system:masters")
	s := service("contest")
	manifest := deployment("web", "1", two)
	p.pass(s, manifest)
	eventually.For(t, patience, "the watch agrees", func() error {
		if all := p.watcher.Findings(s.ID); len(all) > 0 {
			return fmt.Errorf("%+v", all)
		}
		for _, o := range p.engine.Objects(s.ID) {
			if _, found, synced := p.watcher.Lookup(o.Kind, o.Ref); !found || !synced {
				return errors.New("it does not know the object")
			}
		}
		return nil
	})
	mark := p.mark()
	image := func() string {
		d, err := p.admin.AppsV1().Deployments(s.Namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return d.Spec.Template.Spec.Containers[0].Image
	}
	object := p.engine.Objects(s.ID)[0]
	heals, theirs := -1, 0 // the heals so far, and for how many ticks it is theirs
	begun := now.Now()
	for tick := 0; now.Now().Sub(begun) < 10*time.Minute; tick++ {
		if image() == "example.org/app:1" {
			p.patch(s, "web", patched, `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"example.org/theirs:1"}]}}}}`)
			eventually.For(t, patience, "the watch sees the other writer", func() error {
				live, _, _ := p.watcher.Lookup(object.Kind, object.Ref)
				if want, _ := p.engine.Expected(object.Ref); live.Print.OwnIntact(want.Print) && image() != "example.org/app:1" {
					return errors.New("not yet")
				}
				return nil
			})
			heals, theirs = heals+1, 0
		}
		now.Advance(5 * time.Second)
		if theirs++; heals < 5 && theirs == 4 {
			// The first heals wait for less than this; a busy machine takes
			// longer for them than for the clock. It may also begin to wait after the
			// clock went on: then time has to pass for it.
			tries := 0
			eventually.For(t, patience, "it is healed", func() error {
				if got := image(); got != "example.org/app:1" {
					if tries++; tries%50 == 0 {
						now.Advance(5 * time.Second)
					}
					return fmt.Errorf("its image is %s after %d heals", got, heals)
				}
				return nil
			})
		}
		if tick%60 == 40 {
			// A pass that has another reason finds the object too.
			p.pass(s, manifest)
		}
	}
	sent := p.writes(mark, "/deployments/web")
	if len(sent) < 5 || len(sent) > 10 {
		t.Errorf("%d writes in ten minutes, want 5 to 10:\n%s", len(sent), sent)
	}
	eventually.For(t, patience, "the other writer is named", func() error {
		if image() == "example.org/app:1" {
			p.patch(s, "web", patched, `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"example.org/theirs:1"}]}}}}`)
		}
		for _, f := range p.watcher.Findings(s.ID) {
			if f.State == drift.Contested && strings.Contains(f.Message, patched) {
				return nil
			}
		}
		return fmt.Errorf("%+v", p.watcher.Findings(s.ID))
	})
}
