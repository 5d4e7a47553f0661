package apply

import (
	"context"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// gitInterval and fluxInterval are how often Flux looks at a repository and at a
// Kustomization, as `flux bootstrap` sets them.
const (
	gitInterval  = "1m"
	fluxInterval = "10m"
)

var (
	gitRepositories = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
	kustomizations  = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
)

// declare makes the repository and the objects while the controllers are away, and
// returns the revision to install.
func (f *fluxRun) declare(ctx context.Context) (revision string, err error) {
	files := map[string]string{}
	for n := range f.installation.Services {
		maps.Copy(files, f.app(n))
	}
	if err := f.World.Git.Create(ctx, fluxRepository); err != nil {
		return "", err
	}
	if revision, err = f.World.Git.Commit(ctx, fluxRepository, "main", "begin", files); err != nil {
		return "", err
	}
	for _, folder := range f.Controllers.CRDs {
		if _, err := f.World.Kubectl(ctx, installCluster, "create", "-f", folder); err != nil {
			return "", err
		}
		if _, err := f.World.Kubectl(ctx, installCluster, "wait", "--for", "condition=Established", "-f", folder); err != nil {
			return "", err
		}
	}
	for _, namespace := range []string{fluxSystem, fluxTarget} {
		if _, err := f.World.Kubectl(ctx, installCluster, "create", "namespace", namespace); err != nil {
			return "", err
		}
	}
	if f.kubeconfig, err = f.World.Cluster(installCluster).KubeconfigFor(fluxUser, "system:masters"); err != nil {
		return "", err
	}
	if f.client, err = f.admin(); err != nil {
		return "", err
	}
	if err := f.create(ctx, gitRepositories, "GitRepository", fluxRepository, map[string]any{
		"interval": gitInterval, "url": f.World.Git.URL(fluxRepository), "ref": map[string]any{"branch": "main"},
	}); err != nil {
		return "", err
	}
	return revision, f.each(ctx, func(ctx context.Context, n int) error {
		return f.create(ctx, kustomizations, "Kustomization", installName(n), map[string]any{
			"interval": fluxInterval, "path": "./apps/" + installName(n), "prune": true, "targetNamespace": fluxTarget,
			"sourceRef": map[string]any{"kind": "GitRepository", "name": fluxRepository},
		})
	})
}

func (f *fluxRun) create(ctx context.Context, resource schema.GroupVersionResource, kind, name string, spec map[string]any) error {
	_, err := f.client.Resource(resource).Namespace(fluxSystem).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind, name, err)
	}
	return nil
}

// requestedAt is the annotation by which people, and receivers of webhooks, ask a
// controller to look now.
const requestedAt = "reconcile.fluxcd.io/requestedAt"

func (f *fluxRun) request(ctx context.Context, resource schema.GroupVersionResource, name, token string) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, requestedAt, token)
	_, err := f.client.Resource(resource).Namespace(fluxSystem).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// requestAll asks for a pass over every service.
func (f *fluxRun) requestAll(ctx context.Context, token string) error {
	return f.each(ctx, func(ctx context.Context, n int) error { return f.request(ctx, kustomizations, installName(n), token) })
}

// applied says whether a Kustomization has applied a commit of the repository.
func applied(commit string) func(*unstructured.Unstructured) bool {
	return status("lastAppliedRevision", "main@sha1:"+commit)
}

// handled says whether a Kustomization has done what a request asked for.
func handled(token string) func(*unstructured.Unstructured) bool {
	return status("lastHandledReconcileAt", token)
}

// status says whether a Kustomization is ready and has a value in its status.
func status(field, want string) func(*unstructured.Unstructured) bool {
	return func(one *unstructured.Unstructured) bool {
		got, _, _ := unstructured.NestedString(one.Object, "status", field)
		conditions, _, _ := unstructured.NestedSlice(one.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Ready" {
				return c["status"] == "True" && got == want
			}
		}
		return false
	}
}

// await watches until every Kustomization is as it should be.
func (f *fluxRun) await(ctx context.Context, done func(*unstructured.Unstructured) bool) error {
	watcher, err := f.client.Resource(kustomizations).Namespace(fluxSystem).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	ready := map[string]bool{}
	for {
		select {
		case event, ok := <-watcher.ResultChan():
			one, is := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type == watch.Error || !is {
				return fmt.Errorf("the watch of Kustomizations ended: %v", event.Object)
			}
			if done(one) {
				ready[one.GetName()] = true
			}
			if len(ready) == f.installation.Services {
				return nil
			}
		case name := <-f.ended:
			return fmt.Errorf("%s ended", name)
		case <-ctx.Done():
			return fmt.Errorf("%d of %d Kustomizations are ready: %w", len(ready), f.installation.Services, ctx.Err())
		}
	}
}
