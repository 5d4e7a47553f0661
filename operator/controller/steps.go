package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/operator/ownership"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// nameAnnotation keeps the name of the object of the hub. What was created is deleted
// under that name, even if the object's references cannot be read any more.
const nameAnnotation = kinds.Axle + "/hub-name"

// credentials finds out with which credential the object acts. One without does
// nothing, and is not deleted from the hub either. It calls nobody.
func (p *pass) credentials(ctx context.Context) (bool, error) {
	if !p.object.GetDeletionTimestamp().IsZero() && !p.protected() {
		p.gone = true // it belongs to others, or to nobody
		return true, nil
	}
	p.credential, p.denied = p.tenancy.Of(ctx, p.key.Namespace)
	return p.denied != nil, p.denied
}

// connect gets the client for the calls of the hub.
func (p *pass) connect(ctx context.Context) (err error) {
	p.hub, err = p.tenancy.Client(ctx, p.credential)
	if errcode.Is(err, errcode.NotFound) {
		return missing{err} // the Secret of the token may come
	}
	return err
}

// delete deletes the object of the hub, and then the finalizer.
func (p *pass) delete(ctx context.Context) (bool, error) {
	if p.object.GetDeletionTimestamp().IsZero() {
		return false, nil
	}
	p.waits = "the object is being deleted from the hub"
	if c := meta.FindStatusCondition(p.common(p.object).status.Conditions, ready); c == nil || c.Reason != reasonDeleting {
		p.due.Forget(p.key) // the wait for a deletion begins
	}
	p.after = p.due.Again(p.key, false, p.timing.RetryMax, p.timing.Missing)
	name, err := p.hubName(ctx)
	if err == nil {
		err = p.connect(ctx)
	}
	if err != nil {
		return true, err
	}
	gone, err := p.remove(ctx, name)
	said := "deleted " + name + " from the hub"
	var others *ofOthers
	switch {
	case errors.As(err, &others):
		said = "left " + name + " in the hub: " + others.Error()
	case sdk.IsNotFound(err):
	case err != nil || !gone:
		return true, err
	}
	if err := p.unprotect(ctx); err != nil {
		return true, client.IgnoreNotFound(err)
	}
	p.gone = true
	p.event(corev1.EventTypeNormal, "Deleted", "%s", said)
	return true, nil
}

// remove deletes the object of the hub, after what must go before it.
func (p *pass) remove(ctx context.Context, name string) (gone bool, err error) {
	if p.release != nil {
		if free, err := p.release(ctx, p, name); err != nil || !free {
			return false, err
		}
	}
	return p.kind.hub.remove(ctx, p.hub, p.object, name, p.manager())
}

// hubName is the name under which the object was written to the hub.
func (p *pass) hubName(ctx context.Context) (string, error) {
	if name := p.object.GetAnnotations()[nameAnnotation]; name != "" {
		return name, nil
	}
	// The annotation was removed by hand: the name is in the object, if it can be read.
	if _, err := p.lookUp(ctx); err != nil {
		return "", err
	}
	_, err := p.convert(ctx)
	if err != nil {
		return "", err
	}
	return p.item.Name, nil
}

// lookUp reads what the object refers to.
func (p *pass) lookUp(ctx context.Context) (bool, error) {
	p.refs = reference.Resolved{}
	if p.prepare != nil && p.object.GetDeletionTimestamp().IsZero() {
		if err := p.prepare(ctx, p); err != nil {
			return true, err
		}
	}
	if p.references == nil {
		return false, nil
	}
	if p.obsolete != nil && p.object.GetDeletionTimestamp().IsZero() {
		if gone, err := p.obsolete(ctx, p); gone || err != nil {
			return true, err
		}
	}
	if err := followAll(ctx, p, p.references(p.object)); err != nil {
		return true, err
	}
	if p.more != nil {
		more := p.more(p.object, p.refs)
		p.learned.Set(p.key, reference.Keys(more)...)
		if err := followAll(ctx, p, more); err != nil {
			return true, err
		}
	}
	if p.idle != nil && p.object.GetDeletionTimestamp().IsZero() {
		return p.idle(ctx, p)
	}
	return false, nil
}

func followAll(ctx context.Context, p *pass, refs []reference.Reference) error {
	for _, ref := range refs {
		object, err := p.follow(ctx, ref)
		if err != nil {
			return err
		}
		p.refs[ref.Key()] = object
	}
	return nil
}

// convert makes the request to the hub, and its hash. The hash has the versions of
// Secrets in place of their values, so that nothing can be guessed from it.
func (p *pass) convert(context.Context) (bool, error) {
	object := p.object.DeepCopyObject().(client.Object)
	if p.resolve != nil {
		p.resolve(object, p.refs)
	}
	object.SetManagedFields(nil)
	object.GetObjectKind().SetGroupVersionKind(p.gvk())
	var err error
	if p.item, err = manifest.Object(object, p.key.String(), p.refs); err != nil {
		return true, err
	}
	versions, err := manifest.Object(object, p.key.String(), reference.Marks{Resolved: p.refs})
	if err != nil {
		return true, err
	}
	if name := p.object.GetAnnotations()[nameAnnotation]; p.protected() && name != "" && name != p.item.Name {
		return true, errcode.New(errcode.Invalid, "the object is %s in the hub and cannot become %s: change it back, or delete it and create another one", name, p.item.Name)
	}
	p.sha, err = hash(versions)
	return err != nil, err
}

func hash(item *manifest.Item) (string, error) {
	sum := sha256.New()
	for _, request := range append([]proto.Message{item.Cluster, item.Service, item.Global, item.Namespace, item.Request, accessOf(item).Request}, slices.Concat(item.Set, accessOf(item).Set)...) {
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
		if err != nil {
			return "", errcode.New(errcode.Invalid, "%s: %w", item.Where, err)
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// unchanged ends the reconcile, without a call of the hub, if the hub has what the
// object declares and no check is due.
func (p *pass) unchanged(ctx context.Context) (bool, error) {
	status := p.common(p.object).status
	c := meta.FindStatusCondition(status.Conditions, ready)
	if value(status.SHA) != p.sha || p.guarded() && !p.protected() || !meta.IsStatusConditionTrue(status.Conditions, synchronized) || c != nil && c.Reason == reasonSuspended {
		return false, nil
	}
	if p.token != nil {
		want, err := p.token(p.object)
		if err != nil || want != nil && !want.stands(ctx, p) {
			return err != nil, err
		}
	}
	wait, due := p.due.Wait(p.key, func() (first bool) { return meta.IsStatusConditionTrue(status.Conditions, ready) }, p.interval())
	if !due {
		p.untouched = true
		p.after = sooner(p.after, wait)
	}
	return !due, nil
}

func (p *pass) read(ctx context.Context) (_ bool, err error) {
	if p.kind.hub == nil {
		p.have = &found{id: p.item.Name}
		p.after = p.due.Again(p.key, true, p.interval(), p.timing.Pending)
		return true, nil
	}
	if err = p.connect(ctx); err != nil {
		return true, err
	}
	p.item.Management = &hubv1.Management{By: p.manager()}
	p.have, err = p.kind.hub.read(ctx, p.hub, p.item)
	return err != nil, err
}

func (p *pass) decide(context.Context) (bool, error) {
	by, _ := ownership.Of(p.gvk().Group, p.name)
	settings := p.common(p.object).reconciliation
	_, makes := p.item.Request.(*hubv1.CreateClusterRequest)
	p.action = ownership.Decide(by, ownership.State{
		Exists: p.have != nil, Makes: makes, Owned: p.owned(),
		DriftDetection: settings == nil || settings.DriftDetection == nil || *settings.DriftDetection,
		Foreign:        p.foreign(),
		// It takes over once: what it wrote before was taken over by somebody since.
		Adopt: p.object.GetAnnotations()[ownership.AdoptAnnotation] == "true" && !p.protected(),
	})
	switch p.action {
	case ownership.Missing:
		return true, missing{errcode.New(errcode.NotFound, "the hub has no %s", p.instead(p.item.Name))}
	case ownership.Refuse:
		return true, errcode.New(errcode.Conflict, "%s %s exists in the hub and was not created by this object", p.name, p.item.Name)
	case ownership.Show:
		p.after = p.due.Again(p.key, p.have.waits == "", p.interval(), p.timing.Pending)
		return true, nil
	}
	return false, nil
}

// protect stores the finalizer, and the name, before anything exists in the hub.
func (p *pass) protect(ctx context.Context) (bool, error) {
	if !p.guarded() || p.protected() && p.object.GetAnnotations()[nameAnnotation] == p.item.Name {
		return false, nil
	}
	err := p.patch(ctx, func() {
		controllerutil.AddFinalizer(p.object, p.finalizer())
		note(p.object, nameAnnotation, p.item.Name)
	})
	return err != nil, err
}

// note sets an annotation, or removes it with an empty text.
func note(o client.Object, name, text string) {
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	if annotations[name] = text; text == "" {
		delete(annotations, name)
	}
	o.SetAnnotations(annotations)
}

func (p *pass) unprotect(ctx context.Context) error {
	return p.patch(ctx, func() { controllerutil.RemoveFinalizer(p.object, p.finalizer()) })
}

// patch changes metadata; it fails if the object has changed since it was read.
func (p *pass) patch(ctx context.Context, change func()) error {
	before := p.object.DeepCopyObject().(client.Object)
	change()
	err := p.cluster.Patch(ctx, p.object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err == nil {
		p.due.Wrote(p.key, p.object.GetResourceVersion())
	}
	return err
}

// manage says in the request who writes. It is not part of the hash.
func (p *pass) manage() {
	by := &hubv1.Management{By: p.manager(), TakeOver: p.action == ownership.TakeOver || p.lost()}
	switch {
	case p.item.Service != nil:
		p.item.Service.Management = by
	case p.item.Global != nil:
		p.item.Global.Management = by
	case p.item.Namespace != nil:
		p.item.Namespace.Management = by
	case p.item.Cluster != nil:
		p.item.Cluster.Management = by
	default:
		p.item.Management = by
	}
}

// write sends the object if it differs from what the hub has.
func (p *pass) write(ctx context.Context) (bool, error) {
	p.manage()
	var known proto.Message
	if p.have != nil {
		known = p.have.message
	}
	if err := p.item.Lacks(known); err != nil {
		return true, err
	}
	if p.action == ownership.Write && !p.lost() && value(p.common(p.object).status.SHA) == p.sha {
		same, err := p.kind.hub.same(ctx, p.hub, p.item, p.have)
		if err != nil {
			return true, err
		}
		if same {
			p.after = p.due.Again(p.key, p.have.waits == "", p.interval(), p.timing.Pending)
			return true, errors.Join(bind(ctx, p), issueToken(ctx, p))
		}
	}
	have, err := p.kind.hub.write(ctx, p.hub, p.item, p.have)
	if err != nil {
		if p.action == ownership.Create && errcode.Is(err, errcode.Conflict) {
			// Somebody else created it first: it is not this object's.
			err = errors.Join(err, p.unprotect(ctx))
		}
		return true, err
	}
	p.have, p.wrote = have, true
	p.after = p.due.Again(p.key, p.have.waits == "", p.interval(), p.timing.Pending)
	return true, errors.Join(bind(ctx, p), issueToken(ctx, p))
}
