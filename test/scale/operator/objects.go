package operator

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/test/scale"
)

// resources are the kinds that the run declares.
var resources = map[string]schema.GroupVersionResource{
	"GitRepository":     resource("gitrepositories"),
	"Cluster":           resource("clusters"),
	"ServiceContext":    resource("servicecontexts"),
	"ServiceDeployment": resource("servicedeployments"),
}

func resource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: kinds.Deployments, Version: "v1alpha1", Resource: name}
}

// objects are the custom resources of a run.
type objects struct{ client dynamic.Interface }

func newObjects(config *rest.Config) (*objects, error) {
	config.QPS, config.Burst = 400, 800
	client, err := dynamic.NewForConfig(config)
	return &objects{client}, err
}

// manifests are one repository, a Cluster for each cluster, the services, and contexts
// up to the number of custom resources.
func manifests(repository string, clusters, services, total int) (all []*unstructured.Unstructured) {
	add := func(kind, name string, spec map[string]any) {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		o.SetAPIVersion(kinds.Deployments + "/v1alpha1")
		o.SetKind(kind)
		o.SetName(name)
		if kind != "GitRepository" {
			o.SetNamespace(space)
		}
		all = append(all, o)
	}
	add("GitRepository", "fleet", map[string]any{"url": repository})
	for n := range clusters {
		name := scale.PlayedName(n)
		add("Cluster", name, map[string]any{"handle": name, "tags": map[string]any{"tier": "edge"}})
	}
	for n := range services {
		add("ServiceDeployment", serviceName(n), map[string]any{
			"clusterRef":    map[string]any{"kind": "Cluster", "name": scale.PlayedName(n % clusters), "namespace": space},
			"repositoryRef": map[string]any{"kind": "GitRepository", "name": "fleet"},
			"git":           map[string]any{"ref": "main", "folder": "app"},
			"namespace":     serviceName(n),
			"configuration": map[string]any{"number": fmt.Sprint(n)},
		})
	}
	for n := 0; len(all) < total; n++ {
		add("ServiceContext", contextName(n), map[string]any{"configuration": map[string]any{"number": int64(n)}})
	}
	return all
}

func (o *objects) of(object *unstructured.Unstructured) dynamic.ResourceInterface {
	all := o.client.Resource(resources[object.GetKind()])
	if object.GetNamespace() == "" {
		return all
	}
	return all.Namespace(object.GetNamespace())
}

// create creates all, a few at a time.
func (o *objects) create(ctx context.Context, all []*unstructured.Unstructured) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, object := range all {
		group.Go(func() error {
			_, err := o.of(object).Create(ctx, object, metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}

// states counts those that are Synchronized, and of these the ones that are Ready.
func (o *objects) states(ctx context.Context) (synchronized, ready int, err error) {
	for _, r := range resources {
		list, err := o.client.Resource(r).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return 0, 0, err
		}
		for _, one := range list.Items {
			if !is(&one, "Synchronized") {
				continue
			}
			synchronized++
			if is(&one, "Ready") {
				ready++
			}
		}
	}
	return synchronized, ready, nil
}

// is reports whether a condition is true, of the object as it is declared now.
func is(object *unstructured.Unstructured, condition string) bool {
	if seen, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration"); seen != object.GetGeneration() {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c, _ := c.(map[string]any); c["type"] == condition {
			return c["status"] == "True"
		}
	}
	return false
}

// edit changes the configuration of one.
func (o *objects) edit(ctx context.Context, kind, name string) error {
	_, err := o.client.Resource(resources[kind]).Namespace(space).Patch(ctx, name, types.MergePatchType,
		[]byte(`{"spec":{"configuration":{"edited":"yes"}}}`), metav1.PatchOptions{})
	return err
}

// edited returns nil once the hub has the edit.
func (o *objects) edited(ctx context.Context, kind, name string) error {
	one, err := o.client.Resource(resources[kind]).Namespace(space).Get(ctx, name, metav1.GetOptions{})
	if err == nil && !is(one, "Synchronized") {
		err = fmt.Errorf("%s is not Synchronized: %v", name, one.Object["status"])
	}
	return err
}
