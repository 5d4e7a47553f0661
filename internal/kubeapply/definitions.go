package kubeapply

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/internal/errcode"
)

// DefinitionsManager is the field manager of the custom resource definitions.
const DefinitionsManager = "axle"

// atATime is how many definitions are applied together.
const atATime = 8

// groupOfOthers is the API group that Axle shares with the product that it replaces,
// ownGroup the one that it has for itself.
const (
	groupOfOthers = "deployments.plural.sh"
	ownGroup      = "axle-cd.github.io"
)

func schemaOf(group, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Resource: resource}
}

// Definitions applies every file of a folder of custom resource definitions and
// returns how many there are. It refuses, with Conflict, while another product's
// operator runs on the same kinds: two of them would undo each other's work.
func (a *Applier) Definitions(ctx context.Context, files fs.FS) (int, error) {
	if err := a.ForeignOperator(ctx); err != nil {
		return 0, err
	}
	names, err := fs.Glob(files, "crds/*.yaml")
	if err != nil {
		return 0, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for _, name := range names {
		group.Go(func() error {
			text, err := fs.ReadFile(files, name)
			if err != nil {
				return err
			}
			return a.ApplyAll(groupCtx, text, DefinitionsManager, func(string) {})
		})
	}
	return len(names), group.Wait()
}

// Held returns the custom resources of the operator's kinds, in all namespaces, that are
// not gone before a controller has let go of them: those with a finalizer.
func (a *Applier) Held(ctx context.Context) ([]*unstructured.Unstructured, error) {
	definitions, err := a.listed(ctx, "apiextensions.k8s.io/customresourcedefinitions")
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "the cluster at %s: %w", a.Config.Host, err)
	}
	var all []*unstructured.Unstructured
	for _, d := range definitions {
		group, _, _ := unstructured.NestedString(d.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(d.Object, "spec", "names", "plural")
		if group != groupOfOthers && group != ownGroup {
			continue
		}
		objects, err := a.listed(ctx, group+"/"+plural)
		if err != nil {
			return nil, errcode.New(errcode.Unavailable, "the cluster at %s: %w", a.Config.Host, err)
		}
		for i := range objects {
			if len(objects[i].GetFinalizers()) > 0 {
				all = append(all, &objects[i])
			}
		}
	}
	return all, nil
}

// ForeignOperator returns Conflict if a Deployment of another product runs whose
// account may write the status of kinds that our operator acts on.
func (a *Applier) ForeignOperator(ctx context.Context) error {
	accounts, err := a.statusWriters(ctx)
	if err != nil || len(accounts) == 0 {
		return err
	}
	deployments, err := a.listed(ctx, "apps/deployments")
	if err != nil {
		return err
	}
	for _, item := range deployments {
		var d appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &d); err != nil {
			return err
		}
		account := d.Namespace + "/" + d.Spec.Template.Spec.ServiceAccountName
		if !slices.Contains(accounts, account) || d.Labels["app.kubernetes.io/part-of"] == "axle" || d.Status.ReadyReplicas == 0 {
			continue
		}
		return errcode.New(errcode.Conflict, "the operator %s/%s of another product runs on the kinds of %s, and two would undo each other's work. "+
			"Migrate: export what it manages (docs/from/plural.md), stop it with: kubectl -n %s scale deployment %s --replicas 0, and run this again; its custom resources stay as they are",
			d.Namespace, d.Name, groupOfOthers, d.Namespace, d.Name)
	}
	return nil
}

// statusWriters are the accounts, NAMESPACE/NAME, whose cluster role names the group
// and lets them write status.
func (a *Applier) statusWriters(ctx context.Context) ([]string, error) {
	items, err := a.listed(ctx, "rbac.authorization.k8s.io/clusterroles")
	if err != nil {
		return nil, err
	}
	roles := map[string]bool{}
	for _, item := range items {
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &role); err != nil {
			return nil, err
		}
		roles[role.Name] = slices.ContainsFunc(role.Rules, writesStatus)
	}
	if items, err = a.listed(ctx, "rbac.authorization.k8s.io/clusterrolebindings"); err != nil {
		return nil, err
	}
	var accounts []string
	for _, item := range items {
		var binding rbacv1.ClusterRoleBinding
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &binding); err != nil {
			return nil, err
		}
		if !roles[binding.RoleRef.Name] {
			continue
		}
		for _, s := range binding.Subjects {
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return accounts, nil
}

func writesStatus(rule rbacv1.PolicyRule) bool {
	if !slices.Contains(rule.APIGroups, groupOfOthers) {
		return false
	}
	writes := slices.ContainsFunc(rule.Verbs, func(verb string) bool { return verb == "*" || verb == "update" || verb == "patch" })
	return writes && slices.ContainsFunc(rule.Resources, func(resource string) bool {
		return resource == "*" || resource == "*/status" || strings.HasSuffix(resource, "/status")
	})
}
