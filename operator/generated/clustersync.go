package generated

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/operator/tenancy"
)

const (
	syncKind      = "ClusterSync"
	syncFinalizer = kinds.Deployments + "/clustersync-protection"
	// syncLabel is on Clusters that a ClusterSync made, with a hash of which one.
	syncLabel = kinds.Axle + "/cluster-sync"
	// clusterID and renderedHash are the cluster of the hub that a Cluster was made
	// for, and what was rendered for it.
	clusterID    = v1alpha1.SyncedCluster
	renderedHash = kinds.Axle + "/rendered"
	// maxTold is how many failures a status names.
	maxTold = 5
)

// syncs serves ClusterSyncs.
type syncs struct {
	Config
	failures failures
}

// AddSyncs adds the controller of ClusterSyncs to a manager.
func AddSyncs(m manager.Manager, c Config) error {
	r := &syncs{c, newFailures()}
	all := func(ctx context.Context, which client.ListOption) []reconcile.Request {
		var list v1alpha1.ClusterSyncList
		if err := r.Cluster.List(ctx, &list, which); err != nil {
			return nil // the next check finds it
		}
		return requests(&list)
	}
	return builder.ControllerManagedBy(m).Named(syncKind).
		For(&v1alpha1.ClusterSync{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: changed})).
		Watches(&v1alpha1.NamespaceCredentials{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			var found []reconcile.Request
			for _, namespace := range o.(*v1alpha1.NamespaceCredentials).Spec.Namespaces {
				found = append(found, all(ctx, client.InNamespace(namespace))...)
			}
			return found
		})).
		Watches(&v1alpha1.Project{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return all(ctx, &client.ListOptions{})
		}), builder.WithPredicates(predicate.Funcs{UpdateFunc: changed})).
		WithOptions(c.Options).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *syncs) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	s := &v1alpha1.ClusterSync{}
	if err := r.Cluster.Get(ctx, request.NamespacedName, s); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if result, is := r.rival(s); is {
		return result, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	var err error
	if !s.DeletionTimestamp.IsZero() {
		if !controllerutil.ContainsFinalizer(s, syncFinalizer) {
			return reconcile.Result{}, nil // it made nothing
		}
		if err = r.prune(ctx, s, nil, nil); err == nil {
			return reconcile.Result{}, r.unprotect(ctx, s, syncFinalizer)
		}
	} else {
		err = r.sync(ctx, s)
	}
	return r.settle(ctx, s.DeepCopy(), s, &s.Status, s.Spec.Reconciliation, err)
}

// sync makes the Clusters of the selected clusters, with one list of the hub.
func (r *syncs) sync(ctx context.Context, s *v1alpha1.ClusterSync) error {
	credential, err := r.Tenancy.Of(ctx, s.Namespace)
	if err != nil {
		return err
	}
	hub, err := r.Tenancy.Client(ctx, credential)
	if err != nil {
		return err
	}
	ask := &hubv1.ListClustersRequest{Tags: s.Spec.Tags}
	if ask.Project, err = r.project(ctx, s); err != nil {
		return err
	}
	have, err := hub.AllClusters(ctx, ask)
	if err != nil {
		return err
	}
	if err := r.protect(ctx, s, syncFinalizer); err != nil {
		return err
	}
	wanted, kept, failed := map[types.NamespacedName]bool{}, map[string]bool{}, []error{}
	clusters := have
	slices.SortFunc(clusters, func(a, b *hubv1.Cluster) int { return cmp.Compare(a.GetName(), b.GetName()) })
	for _, c := range clusters {
		if c.GetPending() {
			continue // nobody has said yet that it is ours
		}
		object, err := r.rendered(ctx, s, c)
		if err == nil && wanted[client.ObjectKeyFromObject(object)] {
			err = errcode.New(errcode.Invalid, "another cluster has an object of the name %s too", client.ObjectKeyFromObject(object))
		}
		if err == nil {
			wanted[client.ObjectKeyFromObject(object)] = true
			err = r.put(ctx, s, object)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			kept[c.GetId()] = true // what it has stays
			failed = append(failed, fmt.Errorf("cluster %s: %w", c.GetName(), err))
		}
	}
	if err := r.prune(ctx, s, wanted, kept); err != nil {
		return err
	}
	return told(failed)
}

// told is the first failures as one error.
func told(failed []error) error {
	if len(failed) <= maxTold {
		return errors.Join(failed...)
	}
	return errors.Join(append(slices.Clone(failed[:maxTold]), fmt.Errorf("and %d more clusters", len(failed)-maxTold))...)
}

// project is the name in the hub of the Project that limits the selection.
func (r *syncs) project(ctx context.Context, s *v1alpha1.ClusterSync) (string, error) {
	ref := s.Spec.ProjectRef
	if ref == nil || ref.Name == "" {
		return "", nil
	}
	p := &v1alpha1.Project{}
	at := types.NamespacedName{Name: ref.Name}
	if err := r.Cluster.Get(ctx, at, p); err != nil {
		return "", tenancy.ReadError(err, "Project", at, "spec.projectRef")
	}
	return p.Spec.Name, nil
}

// which is the label of the Clusters that an object made.
func (r *syncs) which(s *v1alpha1.ClusterSync) string {
	sum := sha256.Sum256([]byte(r.maker(syncKind, s)))
	return hex.EncodeToString(sum[:16])
}

// put creates or changes a Cluster, if it differs. One of others is Conflict.
func (r *syncs) put(ctx context.Context, s *v1alpha1.ClusterSync, want *v1alpha1.Cluster) error {
	text, err := json.Marshal(want.Spec)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	want.Annotations[renderedHash] = hex.EncodeToString(sum[:])
	have := &v1alpha1.Cluster{}
	err = r.Cluster.Get(ctx, client.ObjectKeyFromObject(want), have)
	if apierrors.IsNotFound(err) {
		return r.Cluster.Create(ctx, want)
	}
	if err != nil {
		return err
	}
	if have.Annotations[writtenBy] != r.maker(syncKind, s) {
		return errcode.New(errcode.Conflict, "Cluster %s exists and was not made by this object: choose another name, or delete it", client.ObjectKeyFromObject(want))
	}
	same, err := isAs(text, have.Spec)
	if err != nil || same && have.Annotations[renderedHash] == want.Annotations[renderedHash] && have.Annotations[clusterID] == want.Annotations[clusterID] {
		return err
	}
	next := have.DeepCopy()
	for key, value := range want.Annotations {
		next.Annotations[key] = value
	}
	next.Spec = want.Spec
	return r.Cluster.Update(ctx, next)
}

// isAs reports whether a spec has the rendered fields as they were rendered. Others are
// the API server's defaults.
func isAs(rendered []byte, spec v1alpha1.ClusterSpec) (bool, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return false, err
	}
	var want, have map[string]any
	if err := errors.Join(json.Unmarshal(rendered, &want), json.Unmarshal(text, &have)); err != nil {
		return false, err
	}
	for field, value := range want {
		if !reflect.DeepEqual(value, have[field]) {
			return false, nil
		}
	}
	return true, nil
}

// prune deletes the Clusters that the object made and that are neither wanted nor of a
// kept cluster of the hub. Their clusters stay in the hub.
func (r *syncs) prune(ctx context.Context, s *v1alpha1.ClusterSync, wanted map[types.NamespacedName]bool, kept map[string]bool) error {
	var list v1alpha1.ClusterList
	if err := r.Cluster.List(ctx, &list, client.MatchingLabels{syncLabel: r.which(s)}); err != nil {
		return err
	}
	for i := range list.Items {
		c := &list.Items[i]
		if wanted[client.ObjectKeyFromObject(c)] || kept[c.Annotations[clusterID]] || c.Annotations[writtenBy] != r.maker(syncKind, s) {
			continue
		}
		exactly := client.Preconditions{UID: &c.UID, ResourceVersion: &c.ResourceVersion}
		if err := client.IgnoreNotFound(r.Cluster.Delete(ctx, c, exactly)); err != nil {
			return err
		}
	}
	return nil
}

// rendered is render, without a second try at the same. The hub is asked again soon all
// the same: it says nothing when a cluster changes.
func (r *syncs) rendered(ctx context.Context, s *v1alpha1.ClusterSync, c *hubv1.Cluster) (out *v1alpha1.Cluster, err error) {
	inputs := []any{
		s.Namespace, s.Name, s.Spec.ClusterSpec,
		c.GetId(), c.GetHandle(), c.GetName(), c.GetProject(), c.GetTags(), c.GetMetadata(), c.GetDistro(), c.GetKubernetesVersion(),
	}
	err = r.failures.once(ctx, inputs, func() error {
		out, err = r.render(ctx, s, c)
		return err
	})
	if same := (unrenderable{}); errors.As(err, &same) {
		err = same.error
	}
	return out, err
}

// render is the Cluster of a cluster of the hub. Invalid with the field.
func (r *syncs) render(ctx context.Context, s *v1alpha1.ClusterSync, c *hubv1.Cluster) (*v1alpha1.Cluster, error) {
	t, err := newTexts(ctx, c)
	if err != nil {
		return nil, err
	}
	template := s.Spec.ClusterSpec
	out := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{
		Name: t.text("metadata.name", &template.Metadata.Name), Namespace: cmp.Or(t.text("metadata.namespace", template.Metadata.Namespace), s.Namespace),
		Labels: map[string]string{syncLabel: r.which(s)}, Annotations: map[string]string{writtenBy: r.maker(syncKind, s), clusterID: c.GetId()},
	}}
	handle := cmp.Or(c.GetHandle(), c.GetName())
	out.Spec.Handle = &handle
	if from := template.Spec; from != nil {
		if text := t.text("spec.handle", from.Handle); text != "" {
			out.Spec.Handle = &text
		}
		if text := t.text("spec.version", from.Version); text != "" {
			out.Spec.Version = &text
		}
		out.Spec.Cloud = t.text("spec.cloud", from.Cloud)
		out.Spec.ProjectRef, out.Spec.ProviderRef = t.reference("spec.projectRef", from.ProjectRef), t.reference("spec.providerRef", from.ProviderRef)
		t.value("spec.tags", from.Tags, &out.Spec.Tags)
		t.value("spec.metadata", from.Metadata, &out.Spec.Metadata)
		t.value("spec.protect", from.Protect, &out.Spec.Protect)
		t.value("spec.nodePools", from.NodePools, &out.Spec.NodePools)
		if b := from.Bindings; b != nil {
			out.Spec.Bindings = &v1alpha1.Bindings{}
			t.value("spec.bindings.read", b.Read, &out.Spec.Bindings.Read)
			t.value("spec.bindings.write", b.Write, &out.Spec.Bindings.Write)
		}
	}
	switch {
	case t.err != nil:
		return nil, t.err
	case out.Name == "":
		return nil, errcode.New(errcode.Invalid, "spec.clusterSpec.metadata.name: is empty for this cluster")
	case out.Namespace != s.Namespace && !(r.Tenancy.Admin(s.Namespace) && r.Tenancy.Admin(out.Namespace)):
		// An object elsewhere would act with other credentials than this one's.
		return nil, errcode.New(errcode.Forbidden, "spec.clusterSpec.metadata.namespace: is %s; only an object of an admin namespace may make Clusters in another one, which must be an admin namespace too", out.Namespace)
	}
	return out, nil
}

// reference renders a reference, nil for none.
func (t *texts) reference(field string, from *v1alpha1.TemplateReference) *v1alpha1.ObjectReference {
	if from == nil {
		return nil
	}
	out := &v1alpha1.ObjectReference{Name: t.text(field+".name", &from.Name), Namespace: t.text(field+".namespace", from.Namespace)}
	if out.Name == "" {
		return nil
	}
	return out
}

// value renders JSON, and decodes it.
func (t *texts) value(field string, template *string, into any) {
	text := strings.TrimSpace(t.text(field, template))
	if text == "" || t.err != nil {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.err = errcode.New(errcode.Invalid, "spec.clusterSpec.%s: the result %.200q is not the JSON that the field needs", field, text)
	}
}
