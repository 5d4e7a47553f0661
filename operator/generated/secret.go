package generated

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/secreterror"
	"github.com/axle-cd/axle/operator/tenancy"
)

const (
	secretKind      = "GeneratedSecret"
	secretFinalizer = kinds.Deployments + "/generatedsecret-protection"
	// inputsOf has the hashes of what the values of a Secret were made from, copiesOf
	// the other Secrets of the object. Both are on the Secret gs-NAME.
	inputsOf = kinds.Axle + "/inputs"
	copiesOf = kinds.Axle + "/copies"
	// secretIndex is the index of GeneratedSecrets by the Secrets that they name, and by
	// the namespaces that they reach into.
	secretIndex = "axle.secrets"
)

// secrets serves GeneratedSecrets.
type secrets struct {
	Config
	failures failures
}

// AddSecrets adds the controller of GeneratedSecrets to a manager.
func AddSecrets(ctx context.Context, m manager.Manager, c Config) error {
	r := &secrets{c, newFailures()}
	err := m.GetFieldIndexer().IndexField(ctx, &v1alpha1.GeneratedSecret{}, secretIndex, func(o client.Object) []string {
		g := o.(*v1alpha1.GeneratedSecret)
		keys := []string{own(g).String()}
		if at, ok := configurationOf(g); ok {
			keys = append(keys, at.String(), into(at.Namespace))
		}
		for _, at := range destinations(g) {
			keys = append(keys, at.String(), into(at.Namespace))
		}
		return keys
	})
	if err != nil {
		return err
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return builder.ControllerManagedBy(m).Named(secretKind).
		For(&v1alpha1.GeneratedSecret{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: changed})).
		Watches(&v1alpha1.NamespaceCredentials{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			var all []reconcile.Request
			for _, namespace := range o.(*v1alpha1.NamespaceCredentials).Spec.Namespaces {
				all = append(all, r.matching(ctx, client.InNamespace(namespace))...)
			}
			return all
		})).
		Watches(&axlev1alpha1.ReferenceGrant{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.matching(ctx, client.MatchingFields{secretIndex: into(o.GetNamespace())})
		})).
		WatchesMetadata(secret, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.matching(ctx, client.MatchingFields{secretIndex: client.ObjectKeyFromObject(o).String()})
		})).
		WatchesRawSource(source.Func(r.hear)).
		WithOptions(c.Options).
		Complete(r)
}

// hear wakes those whose Secrets or grants changed outside of the admin namespaces.
func (r *secrets) hear(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.Tenancy.Hear(ctx, func(ctx context.Context, c tenancy.Change) {
		key := into(c.Namespace)
		if c.Kind != tenancy.GrantKind {
			key = types.NamespacedName{Namespace: c.Namespace, Name: c.Name}.String()
		}
		for _, request := range r.matching(ctx, client.MatchingFields{secretIndex: key}) {
			queue.Add(request)
		}
	})
	return nil
}

func (r *secrets) matching(ctx context.Context, which client.ListOption) []reconcile.Request {
	var list v1alpha1.GeneratedSecretList
	if err := r.Cluster.List(ctx, &list, which); err != nil {
		return nil // the next check finds it
	}
	return requests(&list)
}

func into(namespace string) string { return "into " + namespace }

// own is the Secret with the rendered values.
func own(g *v1alpha1.GeneratedSecret) types.NamespacedName {
	return types.NamespacedName{Namespace: g.Namespace, Name: "gs-" + g.Name}
}

// configurationOf is the Secret that the template reads.
func configurationOf(g *v1alpha1.GeneratedSecret) (at types.NamespacedName, ok bool) {
	ref := g.Spec.ConfigurationRef
	if ref == nil || ref.Name == "" {
		return at, false
	}
	at = types.NamespacedName{Namespace: g.Namespace, Name: ref.Name}
	if ref.Namespace != "" {
		at.Namespace = ref.Namespace
	}
	return at, true
}

// destinations are the Secrets that get the values too, sorted.
func destinations(g *v1alpha1.GeneratedSecret) []types.NamespacedName {
	var all []types.NamespacedName
	for _, d := range g.Spec.Destinations {
		at := types.NamespacedName{Namespace: g.Namespace, Name: d.Name}
		if d.Namespace != "" {
			at.Namespace = d.Namespace
		}
		if at != own(g) {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

// Reconcile implements reconcile.Reconciler.
func (r *secrets) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	g := &v1alpha1.GeneratedSecret{}
	if err := r.Cluster.Get(ctx, request.NamespacedName, g); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if result, is := r.rival(g); is {
		return result, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	if !g.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(g, secretFinalizer) {
		return reconcile.Result{}, nil // it made nothing
	}
	err := r.Tenancy.MayAct(ctx, g.Namespace)
	if err == nil && !g.DeletionTimestamp.IsZero() {
		if err = r.withdraw(ctx, g); err == nil {
			return reconcile.Result{}, r.unprotect(ctx, g, secretFinalizer)
		}
	} else if err == nil {
		err = r.make(ctx, g)
	}
	before := g.DeepCopy()
	if err == nil {
		g.Status.RenderedTemplateSecretRef = &v1alpha1.LocalReference{Name: own(g).Name}
	}
	return r.settle(ctx, before, g, &g.Status.Status, g.Spec.Reconciliation, err)
}

// make renders the values, and writes them where they are wanted.
func (r *secrets) make(ctx context.Context, g *v1alpha1.GeneratedSecret) error {
	configuration, err := r.configuration(ctx, g)
	if err != nil {
		return err
	}
	wanted := destinations(g)
	for _, at := range wanted {
		if err := r.Tenancy.MayWrite(ctx, "spec.destinations", r.object(g), secretAt(at)); err != nil {
			return err
		}
	}
	have, err := r.look(ctx, g, own(g), "its rendered values")
	if err != nil {
		return err
	}
	before, copies, err := r.kept(ctx, g, have, wanted)
	if err != nil {
		return err
	}
	next, err := r.rendered(ctx, g.Spec.Template, configuration, before)
	if err != nil {
		return err
	}
	if err := r.protect(ctx, g, secretFinalizer); err != nil {
		return err
	}
	// What is going to be written is noted first, with what was written before.
	all := slices.Clone(wanted)
	for _, at := range copies {
		if !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	if err := r.write(ctx, g, own(g), have, next, all); err != nil {
		return err
	}
	for _, at := range wanted {
		have, err := r.look(ctx, g, at, "spec.destinations")
		if err == nil {
			err = r.write(ctx, g, at, have, next, nil)
		}
		if err != nil {
			return err
		}
	}
	if len(all) == len(wanted) {
		return nil
	}
	for _, at := range all[len(wanted):] {
		if err := r.remove(ctx, g, at); err != nil {
			return err
		}
	}
	if have, err = r.look(ctx, g, own(g), "its rendered values"); err != nil {
		return err
	}
	return r.write(ctx, g, own(g), have, next, wanted)
}

// rendered is render, without a second try at the same.
func (r *secrets) rendered(ctx context.Context, template, configuration map[string]string, before rendered) (next rendered, err error) {
	err = r.failures.once(ctx, []any{template, configuration, before.inputs}, func() error {
		next, err = render(ctx, template, configuration, before)
		return err
	})
	return next, err
}

func (r *secrets) object(g *v1alpha1.GeneratedSecret) tenancy.Object {
	return tenancy.Object{Group: kinds.Deployments, Kind: secretKind, NamespacedName: client.ObjectKeyFromObject(g)}
}

func secretAt(at types.NamespacedName) tenancy.Object {
	return tenancy.Object{Kind: "Secret", NamespacedName: at}
}

// configuration is what templates see.
func (r *secrets) configuration(ctx context.Context, g *v1alpha1.GeneratedSecret) (map[string]string, error) {
	at, ok := configurationOf(g)
	if !ok {
		return nil, nil
	}
	if err := r.Tenancy.MayName(ctx, "spec.configurationRef", r.object(g), secretAt(at)); err != nil {
		return nil, err
	}
	secret := &corev1.Secret{}
	if err := r.Direct.Get(ctx, at, secret); err != nil {
		return nil, tenancy.ReadError(err, "Secret", at, "spec.configurationRef")
	}
	values := map[string]string{}
	for key, value := range secret.Data {
		values[key] = string(value)
	}
	return values, nil
}

// look reads a Secret of the object, nil for none. One of others is Conflict.
func (r *secrets) look(ctx context.Context, g *v1alpha1.GeneratedSecret, at types.NamespacedName, field string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := r.Direct.Get(ctx, at, secret); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, tenancy.ReadError(err, "Secret", at, field)
	}
	if secret.Annotations[writtenBy] != r.maker(secretKind, g) {
		return nil, errcode.New(errcode.Conflict, "Secret %s of %s exists and was not written for this object: choose another name, or delete it", at, field)
	}
	return secret, nil
}

// kept returns the values of before and where copies of them are. If somebody deleted
// the Secret with the values, a copy has them.
func (r *secrets) kept(ctx context.Context, g *v1alpha1.GeneratedSecret, have *corev1.Secret, wanted []types.NamespacedName) (rendered, []types.NamespacedName, error) {
	var before rendered
	if have != nil {
		var copies []types.NamespacedName
		for name := range strings.FieldsSeq(have.Annotations[copiesOf]) {
			namespace, name, _ := strings.Cut(name, "/")
			copies = append(copies, types.NamespacedName{Namespace: namespace, Name: name})
		}
		before.values = have.Data
		if err := json.Unmarshal([]byte(have.Annotations[inputsOf]), &before.inputs); err != nil {
			before.values = nil // somebody changed it: everything is made again
		}
		return before, copies, nil
	}
	for _, at := range wanted {
		found, err := r.look(ctx, g, at, "spec.destinations")
		if err != nil {
			return before, nil, err
		}
		if found != nil && json.Unmarshal([]byte(found.Annotations[inputsOf]), &before.inputs) == nil {
			before.values = found.Data
			return before, nil, nil
		}
	}
	return before, nil, nil
}

// write creates or changes a Secret, if it differs.
func (r *secrets) write(ctx context.Context, g *v1alpha1.GeneratedSecret, at types.NamespacedName, have *corev1.Secret, next rendered, copies []types.NamespacedName) error {
	inputs, err := json.Marshal(next.inputs)
	if err != nil {
		return err
	}
	annotations := map[string]string{writtenBy: r.maker(secretKind, g), inputsOf: string(inputs)}
	if copies != nil {
		var names []string
		for _, copy := range copies {
			names = append(names, copy.String())
		}
		annotations[copiesOf] = strings.Join(names, " ")
	}
	if have == nil {
		err = r.Cluster.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: at.Name, Annotations: annotations}, Data: next.values})
		return writeError(err, at)
	}
	secret := have.DeepCopy()
	maps.Copy(secret.Annotations, annotations)
	secret.Data = next.values
	if equality.Semantic.DeepEqual(secret, have) {
		return nil
	}
	return writeError(r.Cluster.Update(ctx, secret), at)
}

func writeError(err error, at types.NamespacedName) error {
	err = secreterror.Of(err)
	if apierrors.IsForbidden(err) {
		return errcode.New(errcode.Forbidden, "the operator may not write Secret %s: bind the ClusterRole axle-operator-secrets to its ServiceAccount in namespace %s (%w)", at, at.Namespace, err)
	}
	return err
}

// remove deletes a Secret, if it is of the object.
func (r *secrets) remove(ctx context.Context, g *v1alpha1.GeneratedSecret, at types.NamespacedName) error {
	secret, err := r.look(ctx, g, at, "spec.destinations")
	if errcode.Is(err, errcode.Conflict) || err == nil && secret == nil {
		return nil
	}
	if err != nil {
		return err
	}
	exactly := client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion}
	return writeError(client.IgnoreNotFound(r.Cluster.Delete(ctx, secret, exactly)), at)
}

// withdraw deletes the Secrets of an object that is deleted, the one that names the
// others last.
func (r *secrets) withdraw(ctx context.Context, g *v1alpha1.GeneratedSecret) error {
	have, err := r.look(ctx, g, own(g), "its rendered values")
	if err != nil && !errcode.Is(err, errcode.Conflict) {
		return err
	}
	_, copies, err := r.kept(ctx, g, have, nil)
	if err != nil {
		return err
	}
	var failed []error
	for _, at := range append(copies, destinations(g)...) {
		failed = append(failed, r.remove(ctx, g, at))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return r.remove(ctx, g, own(g))
}
