package ownertree_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/ownertree"
)

// lists are a cluster's answers, by path without query; a missing one is an empty
// list.
type lists map[string]string

func (l lists) read(_ context.Context, path string) ([]byte, error) {
	at, err := url.Parse(path)
	if err != nil {
		return nil, err
	}
	switch text := l[at.Path]; {
	case text == "forbidden":
		return nil, errcode.New(errcode.Forbidden, "the cluster answered 403: not you")
	case text == "unavailable":
		return nil, errcode.New(errcode.Unavailable, "the tunnel was cut")
	case text == "absent":
		return nil, errcode.New(errcode.NotFound, "the cluster answered 404")
	case strings.HasPrefix(text, `{"spec"`):
		return []byte(text), nil
	default:
		return []byte(`{"metadata":{},"items":[` + text + `]}`), nil
	}
}

// made is an object of a list: its name, its owner, and the rest.
func made(name, owner, more string) string {
	meta := map[string]any{"name": name, "namespace": "shop", "uid": "uid-" + name}
	if group, rest, ok := strings.Cut(owner, " "); ok {
		kind, uid, _ := strings.Cut(rest, " ")
		meta["ownerReferences"] = []any{map[string]any{"apiVersion": group, "kind": kind, "name": strings.TrimPrefix(uid, "uid-"), "uid": uid, "controller": true}}
	}
	text, _ := json.Marshal(meta)
	return `{"metadata":` + string(text) + more + `}`
}

const (
	ready    = `,"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`
	crashing = `,"status":{"phase":"Running","containerStatuses":[{"name":"main","state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}}}]}`
)

func drawn(nodes []*ownertree.Node, indent string) (lines []string) {
	for _, n := range nodes {
		mark := ""
		if n.Failing {
			mark = " <-"
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s%s %s %s%s", indent, n.Kind, n.Name, n.Health, mark), " "))
		lines = append(lines, drawn(n.Children, indent+"  ")...)
	}
	return lines
}

func root(group, kind, name, health string) ownertree.Object {
	return ownertree.Object{Group: group, Version: "v1", Kind: kind, Namespace: "shop", Name: name, UID: "uid-" + name, Health: health}
}

func TestTrees(t *testing.T) {
	const apps, batch, core = "/apis/apps/v1/namespaces/shop/", "/apis/batch/v1/namespaces/shop/", "/api/v1/namespaces/shop/"
	oneReplica := `,"spec":{"replicas":1},"status":{"replicas":1}`
	for name, test := range map[string]struct {
		roots   []ownertree.Object
		lists   lists
		want    []string
		failing string
		notes   []string
	}{
		"a deployment down to its pods": {
			roots: []ownertree.Object{root("apps", "Deployment", "web", "Progressing"), root("", "ConfigMap", "settings", "Healthy")},
			lists: lists{
				apps + "replicasets": made("web-2", "apps/v1 Deployment uid-web", oneReplica) + "," + made("web-1", "apps/v1 Deployment uid-web", `,"spec":{"replicas":0}`) +
					"," + made("alien-1", "apps/v1 Deployment uid-alien", oneReplica),
				core + "pods": made("web-2-b", "apps/v1 ReplicaSet uid-web-2", crashing) + "," + made("web-2-a", "apps/v1 ReplicaSet uid-web-2", ready) +
					"," + made("alien-1-a", "apps/v1 ReplicaSet uid-alien-1", crashing) + "," + made("alone", "", crashing),
			},
			want: []string{
				"Deployment web Progressing <-", "  ReplicaSet web-2 Progressing <-", "    Pod web-2-a Healthy", "    Pod web-2-b Degraded <-", "ConfigMap settings Healthy",
			},
			failing: "Deployment web > ReplicaSet web-2 > Pod web-2-b: CrashLoopBackOff: back-off 10s",
		},
		"a root that was made anew": {
			roots: []ownertree.Object{{Group: "apps", Version: "v1", Kind: "StatefulSet", Namespace: "shop", Name: "db", UID: "before", Health: "Healthy"}},
			lists: lists{core + "pods": made("db-0", "apps/v1 StatefulSet uid-db", ready)},
			want:  []string{"StatefulSet db Healthy", "  Pod db-0 Healthy"},
		},
		"a cron job": {
			roots: []ownertree.Object{root("batch", "CronJob", "night", "Healthy")},
			lists: lists{
				batch + "jobs": made("night-1", "batch/v1 CronJob uid-night", `,"status":{"conditions":[{"type":"Failed","status":"True","message":"too often"}]}`),
				core + "pods":  made("night-1-x", "batch/v1 Job uid-night-1", `,"status":{"phase":"Failed","containerStatuses":[{"name":"main","state":{"terminated":{"exitCode":3}}}]}`),
			},
			want: []string{"CronJob night Healthy", "  Job night-1 Degraded", "    Pod night-1-x Degraded"},
			// The CronJob is healthy, so nothing of the service fails.
		},
		"a release of Flux": {
			roots: []ownertree.Object{root("helm.toolkit.fluxcd.io", "HelmRelease", "shop", "Progressing")},
			lists: lists{
				"/apis/helm.toolkit.fluxcd.io/v1/namespaces/shop/helmreleases/shop": `{"spec":{"targetNamespace":"target"}}`,
				"/apis/apps/v1/namespaces/target/deployments": `{"metadata":{"name":"api","namespace":"target","uid":"uid-api","labels":{"helm.toolkit.fluxcd.io/name":"shop","helm.toolkit.fluxcd.io/namespace":"shop"}}},` +
					`{"metadata":{"name":"other","namespace":"target","uid":"uid-other","labels":{"helm.toolkit.fluxcd.io/name":"shop","helm.toolkit.fluxcd.io/namespace":"elsewhere"}}}`,
				"/apis/apps/v1/namespaces/target/replicasets": made("api-1", "apps/v1 Deployment uid-api", oneReplica),
				"/api/v1/namespaces/target/pods":              made("api-1-a", "apps/v1 ReplicaSet uid-api-1", crashing),
			},
			want: []string{
				"HelmRelease shop Progressing <-", "  Deployment api Progressing <-", "    ReplicaSet api-1 Progressing <-", "      Pod api-1-a Degraded <-",
			},
			failing: "HelmRelease shop > Deployment api > ReplicaSet api-1 > Pod api-1-a: CrashLoopBackOff: back-off 10s",
		},
		"a rollout of Argo": {
			roots: []ownertree.Object{root("argoproj.io", "Rollout", "web", "Degraded")},
			lists: lists{
				"/apis/argoproj.io/v1alpha1/namespaces/shop/analysisruns": made("web-2-check", "argoproj.io/v1alpha1 Rollout uid-web", `,"status":{"phase":"Failed","message":"too many errors"}`),
				apps + "replicasets": made("web-2", "argoproj.io/v1alpha1 Rollout uid-web", `,"spec":{"replicas":1},"status":{"availableReplicas":1,"replicas":1}`),
				core + "pods":        made("web-2-a", "apps/v1 ReplicaSet uid-web-2", ready),
			},
			want:    []string{"Rollout web Degraded <-", "  AnalysisRun web-2-check Degraded <-", "  ReplicaSet web-2 Healthy", "    Pod web-2-a Healthy"},
			failing: "Rollout web > AnalysisRun web-2-check: too many errors",
		},
		"what an operator makes": {
			roots: []ownertree.Object{root("databases.example.org", "Cluster", "db", "Healthy")},
			lists: lists{
				apps + "statefulsets": made("db", "databases.example.org/v1 Cluster uid-db", `,"status":{"observedGeneration":1,"readyReplicas":1}`),
			},
			want: []string{"Cluster db Healthy", "  StatefulSet db Healthy"},
		},
		"what may not be seen is said": {
			roots:   []ownertree.Object{root("apps", "Deployment", "web", "Progressing")},
			lists:   lists{apps + "replicasets": made("web-2", "apps/v1 Deployment uid-web", oneReplica), core + "pods": "forbidden"},
			want:    []string{"Deployment web Progressing <-", "  ReplicaSet web-2 Progressing <-"},
			failing: "Deployment web > ReplicaSet web-2: 0 of 1 replicas are available",
			notes:   []string{"pods of namespace shop: the cluster answered 403: not you"},
		},
		"cut off on the way": {
			roots: []ownertree.Object{root("apps", "Deployment", "web", "Healthy")},
			lists: lists{core + "pods": "unavailable"},
			want:  []string{"Deployment web Healthy"},
			notes: []string{"the rest was not read: the tunnel was cut"},
		},
		"a kind that the cluster has not": {
			roots: []ownertree.Object{root("argoproj.io", "Rollout", "web", "Healthy")},
			lists: lists{"/apis/argoproj.io/v1alpha1/namespaces/shop/analysisruns": "absent"},
			want:  []string{"Rollout web Healthy"},
		},
		"objects that own each other": {
			roots: []ownertree.Object{root("apps", "Deployment", "web", "Healthy")},
			lists: lists{apps + "replicasets": made("a", "apps/v1 ReplicaSet uid-b", oneReplica) + "," + made("b", "apps/v1 ReplicaSet uid-a", oneReplica)},
			want:  []string{"Deployment web Healthy"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := ownertree.Grow(t.Context(), test.roots, test.lists.read)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, drawn(tree.Roots, "")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.notes, tree.Notes); diff != "" || tree.Failing != test.failing {
				t.Errorf("fails first: %q, want %q; notes (-want +got):\n%s", tree.Failing, test.failing, diff)
			}
		})
	}
}

// An empty tree differs from one whose roots own nothing.
func TestAClusterThatIsAwayIsAnError(t *testing.T) {
	_, err := ownertree.Grow(t.Context(), []ownertree.Object{root("apps", "StatefulSet", "db", "Healthy")}, lists{"/api/v1/namespaces/shop/pods": "unavailable"}.read)
	if !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("%v", err)
	}
	// A service that owns nothing asks for nothing.
	tree, err := ownertree.Grow(t.Context(), []ownertree.Object{root("", "ConfigMap", "web", "Healthy")}, func(context.Context, string) ([]byte, error) {
		t.Error("something was asked")
		return nil, nil
	})
	if err != nil || len(tree.Roots) != 1 {
		t.Errorf("%+v, %v", tree, err)
	}
}

// TestBounds: a list without end costs ten pages, and more nodes than a person
// reads are not kept.
func TestBounds(t *testing.T) {
	pages, namespaces := 0, map[string]bool{}
	read := func(_ context.Context, path string) ([]byte, error) {
		pages++
		namespaces[strings.Split(path, "/")[4]] = true
		items := make([]string, 0, 15)
		for n := range 15 {
			items = append(items, made(fmt.Sprintf("p-%d-%d", pages, n), "apps/v1 StatefulSet uid-db0", ready))
		}
		return []byte(`{"metadata":{"continue":"more"},"items":[` + strings.Join(items, ",") + `]}`), nil
	}
	var roots []ownertree.Object
	for n := range 30 {
		o := root("apps", "StatefulSet", fmt.Sprint("db", n), "Healthy")
		o.Namespace = fmt.Sprintf("ns%02d", n)
		roots = append(roots, o)
	}
	tree, err := ownertree.Grow(t.Context(), roots, read)
	if err != nil {
		t.Fatal(err)
	}
	if pages != 200 || len(namespaces) != 20 || len(tree.Roots[0].Children) != 2000 {
		t.Errorf("%d pages of %d namespaces, %d nodes", pages, len(namespaces), len(tree.Roots[0].Children))
	}
	notes := strings.Join(tree.Notes, "\n")
	for _, want := range []string{"first 20 of 30 namespaces", "first 2000 objects", "first 10 pages of 200"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in %s", want, notes)
		}
	}
}
