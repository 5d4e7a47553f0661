package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/jitter"
)

// chattyEvery is how often each chatty custom resource gets a status.
const chattyEvery = 10 * time.Second

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	reports     = schema.GroupVersionResource{Group: "chatty.example.test", Version: "v1", Resource: "reports"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// admin returns a client that is not the agent.
func (a *application) admin() (dynamic.Interface, error) {
	config := a.World.Cluster(installCluster).Config()
	config.QPS, config.Burst = 200, 400
	return dynamic.NewForConfig(config)
}

// crds installs the definitions that nobody uses, and that of the chatty ones.
func (a *application) crds(ctx context.Context) error {
	client, err := a.admin()
	if err != nil {
		return err
	}
	names := []string{}
	for n := range a.CRDs {
		names = append(names, fmt.Sprintf("unused%03d.crowd.example.test", n))
	}
	if a.Chatty > 0 {
		names = append(names, "report.chatty.example.test")
	}
	for _, name := range names {
		singular, group, _ := strings.Cut(name, ".")
		if _, err := client.Resource(definitions).Create(ctx, definition(singular, group), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// definition is a small custom resource definition with a status.
func definition(singular, group string) *unstructured.Unstructured {
	kind := strings.ToUpper(singular[:1]) + singular[1:]
	object := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": singular + "s." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "singular": singular, "plural": singular + "s"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema":       map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": object, "status": object}}},
				"subresources": map[string]any{"status": map[string]any{}},
			}},
		},
	}}
}

// chatter writes a status of each chatty resource every ten seconds, spread
// evenly, until the context ends.
func (a *application) chatter(ctx context.Context, updates *atomic.Int64) {
	if a.Chatty == 0 {
		return
	}
	client, err := a.admin()
	if err != nil {
		a.say("no chatter: %v", err)
		return
	}
	list, err := client.Resource(reports).List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		a.say("no chatter: %v", err)
		return
	}
	pause := chattyEvery / time.Duration(len(list.Items))
	for n := 0; ; n++ {
		one := list.Items[n%len(list.Items)]
		patch := fmt.Sprintf(`{"status":{"beat":%d}}`, n)
		_, err := client.Resource(reports).Namespace(one.GetNamespace()).Patch(ctx, one.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		if err == nil {
			updates.Add(1)
		}
		if jitter.Wait(ctx, pause) != nil {
			return
		}
	}
}

// heal deletes objects one after the other and returns the median time until
// they are back, in milliseconds.
func (a *application) heal(ctx context.Context) (float64, error) {
	client, err := a.admin()
	if err != nil {
		return 0, err
	}
	var took []float64
	for k := range heals {
		name := installName(a.installation.Services - 1 - k%a.installation.Services)
		list, err := client.Resource(configMaps).List(ctx, metav1.ListOptions{FieldSelector: "metadata.namespace!=" + peerNamespace + ",metadata.namespace!=" + fluxTarget + ",metadata.name=" + name})
		if err != nil || len(list.Items) == 0 {
			return 0, fmt.Errorf("find ConfigMap %s: %d of it, %w", name, len(list.Items), err)
		}
		one := client.Resource(configMaps).Namespace(list.Items[0].GetNamespace())
		began := time.Now()
		if err := one.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return 0, err
		}
		if err := eventually.Wait(ctx, time.Minute, func() error {
			_, err := one.Get(ctx, name, metav1.GetOptions{})
			return err
		}); err != nil {
			return 0, fmt.Errorf("ConfigMap %s did not come back: %w", name, err)
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
