package agent_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/difference"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/test/kube"
)

// webAndJob is web with work that ends.
const webAndJob = web + `
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "example.org/a:1"}]}}}`

func (p *pair) diff(service apply.Service, manifests string) (map[string]difference.Difference, error) {
	var objects []*unstructured.Unstructured
	for doc := range strings.SplitSeq(manifests, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	permit, err := p.gate.Permit(tenancy.Request{Service: service.ID, Namespace: service.Namespace})
	if err != nil {
		return nil, err
	}
	found, err := p.engine.Diff(p.t.Context(), permit, service, objects)
	all := map[string]difference.Difference{}
	for _, d := range found.Differences {
		all[d.Ref.String()] = d
	}
	return all, err
}

// Drift and a diff report the same objects, whatever happened to them, and both name
// the field and its writer.
func TestDriftAndDiffNeverContradict(t *testing.T) {
	cluster := kube.Shared(t)
	p, _ := start(t, cluster, "agree", "system:masters")
	for name, test := range map[string]struct {
		strict bool
		do     func(ctx context.Context, namespace string) error
		// want are the objects that differ, says is in each one's message.
		want []string
		says string
	}{
		"nothing happened":             {},
		"a person changes a value":     {do: p.edit("kubectl-edit", `{"data":{"key":"other"}}`), want: []string{"ConfigMap"}, says: "kubectl-edit"},
		"a controller changes a value": {do: p.edit("some-controller", `{"data":{"key":"other"}}`), want: []string{"ConfigMap"}, says: "some-controller"},
		"the same value by another hand": {do: func(ctx context.Context, namespace string) error {
			if err := p.edit("kubectl-edit", `{"data":{"key":"other"}}`)(ctx, namespace); err != nil {
				return err
			}
			return p.edit("kubectl-edit", `{"data":{"key":"value"}}`)(ctx, namespace)
		}, want: []string{"ConfigMap"}, says: "kubectl-edit"},
		"a field is removed":                 {do: p.edit("kubectl-edit", `{"data":{"key":null}}`), want: []string{"ConfigMap"}},
		"a person adds a field":              {do: p.edit("kubectl-edit", `{"data":{"more":"x"}}`), want: []string{"ConfigMap"}, says: ".data.more (by kubectl-edit)"},
		"a person adds a label":              {do: p.edit("k9s", `{"metadata":{"labels":{"a":"b"}}}`), want: []string{"ConfigMap"}, says: ".metadata.labels.a (by k9s)"},
		"a controller adds a field":          {do: p.edit("some-controller", `{"data":{"more":"x"}}`)},
		"a person adds a field under strict": {strict: true, do: p.edit("kubectl-edit", `{"data":{"more":"x"}}`), want: []string{"ConfigMap"}, says: "kubectl-edit"},
		"a controller adds under strict":     {strict: true, do: p.edit("some-controller", `{"data":{"more":"x"}}`)},
		"the marks are taken off":            {do: p.edit("kubectl-edit", `{"metadata":{"annotations":null,"labels":null}}`), want: []string{"ConfigMap"}},
		"one mark is changed":                {do: p.edit("kubectl-edit", `{"metadata":{"annotations":{"axle-cd.github.io/tracking":"/ConfigMap/x/y"}}}`), want: []string{"ConfigMap"}},
		"an object is deleted": {do: func(ctx context.Context, namespace string) error {
			return p.admin.CoreV1().ConfigMaps(namespace).Delete(ctx, "web", metav1.DeleteOptions{})
		}, want: []string{"ConfigMap"}},
		"work that ends is deleted": {do: func(ctx context.Context, namespace string) error {
			background := metav1.DeletePropagationBackground
			return p.admin.BatchV1().Jobs(namespace).Delete(ctx, "once", metav1.DeleteOptions{PropagationPolicy: &background})
		}},
		"an autoscaler scales": {do: p.scale("kube-controller-manager")},
		"a person scales":      {do: p.scale("kubectl")},
		"a person writes replicas": {do: func(ctx context.Context, namespace string) error {
			_, err := p.admin.AppsV1().Deployments(namespace).Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
			return err
		}, want: []string{"Deployment.apps"}, says: "kubectl-edit"},
		"another one controls it": {do: p.edit("some-controller", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"x","controller":true}]},"data":{"key":"other"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			s := service(strings.ReplaceAll("agree-"+name, " ", "-"))
			s.Strict = test.strict
			p.pass(s, webAndJob)
			p.quiet(s.ID)
			// While it is paused nothing is put back, so that both can look.
			p.engine.Pause(s.ID)
			if test.do != nil {
				if err := test.do(t.Context(), s.Namespace); err != nil {
					t.Fatal(err)
				}
			}
			var want []string
			for _, kind := range test.want {
				want = append(want, kind+" "+s.Namespace+"/web")
			}
			eventually.For(t, patience, "drift and diff say the same", func() error {
				p.recheck(s.ID)
				found := map[string]string{}
				for _, f := range p.watcher.Findings(s.ID) {
					found[f.Ref.String()] = f.Message
				}
				differs, err := p.diff(s, webAndJob)
				if err != nil {
					return err
				}
				drifted, diffed := slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(differs))
				if !slices.Equal(drifted, diffed) || !slices.Equal(drifted, want) {
					return fmt.Errorf("drifted %v, diff %v, want %v", drifted, diffed, want)
				}
				for ref, text := range found {
					if !strings.Contains(text, test.says) || !strings.Contains(differs[ref].Message, test.says) {
						return fmt.Errorf("without %q: %q, %q", test.says, text, differs[ref].Message)
					}
				}
				return nil
			})
		})
	}
}

// recheck compares all objects of a service again.
func (p *pair) recheck(service string) {
	for _, o := range p.engine.Objects(service) {
		p.watcher.Recheck([]kubeobj.Ref{o.Ref})
	}
}

func (p *pair) edit(manager, body string) func(context.Context, string) error {
	return func(ctx context.Context, namespace string) error {
		_, err := p.admin.CoreV1().ConfigMaps(namespace).Patch(ctx, "web", types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager})
		return err
	}
}

func (p *pair) scale(manager string) func(context.Context, string) error {
	return func(ctx context.Context, namespace string) error {
		_, err := p.admin.AppsV1().Deployments(namespace).UpdateScale(ctx, "web", &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: 7},
		}, metav1.UpdateOptions{FieldManager: manager})
		return err
	}
}

// A heal reports the restored field and who had changed it.
func TestHealsNameTheFieldAndItsWriter(t *testing.T) {
	p, _ := start(t, kube.Shared(t), "tells", "system:masters")
	s := service("tells")
	p.pass(s, web)
	p.quiet(s.ID)
	if err := p.edit("kubectl-edit", `{"data":{"key":"other"}}`)(t.Context(), s.Namespace); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, patience, "a heal is told", func() error {
		heals := p.watcher.Heals()
		if len(heals) != 1 || heals[0].GetName() != "web" || len(heals[0].Fields) != 1 || heals[0].GetFields()[0].GetPath() != ".data.key" || heals[0].GetFields()[0].GetManager() != "kubectl-edit" {
			return fmt.Errorf("%+v", heals)
		}
		return nil
	})
	if err := p.admin.CoreV1().ConfigMaps(s.Namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, patience, "the second heal is told", func() error {
		if heals := p.watcher.Heals(); len(heals) != 2 || len(heals[1].GetFields()) != 0 {
			return fmt.Errorf("%+v", heals)
		}
		return nil
	})
}
