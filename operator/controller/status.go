package controller

import (
	"cmp"
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/axle-cd/axle/operator/condition"
	"github.com/axle-cd/axle/operator/ownership"
)

// Conditions, and the reasons of conditions and events.
const (
	ready                 = condition.Ready
	synchronized          = condition.Synchronized
	readonly              = condition.Readonly
	namespacedCredentials = condition.NamespacedCredentials
	supported             = condition.Supported
	reasonReady           = condition.Ready
	reasonDeleting        = condition.Deleting
	reasonSynchronized    = condition.Synchronized
	reasonError           = condition.Error
	reasonNotFound        = condition.NotFound
	reasonReadonly        = condition.Readonly
	reasonSuspended       = "Suspended"
	reasonDefault         = condition.DefaultCredentials
	reasonNamespaced      = condition.NamespacedCredentials
)

// report writes the status if it changed, and records an event for each change that
// a person wants to know of.
func (p *pass) report(ctx context.Context, err error) error {
	before := p.object.DeepCopyObject().(client.Object)
	status := p.common(p.object).status
	was := slices.Clone(status.Conditions)
	status.ObservedGeneration = p.object.GetGeneration()
	meta.RemoveStatusCondition(&status.Conditions, supported) // of the CRD, from before it had a controller
	if p.have != nil && err == nil {
		p.fill()
	}
	if p.have != nil && p.unbound {
		status.ID = &p.have.id // it is in the hub, whatever becomes of its bindings
	}
	p.setCredentials()
	switch {
	case err != nil:
		reason := reasonError
		var absent missing
		if errors.As(err, &absent) {
			reason = reasonNotFound
		}
		if p.action == ownership.Missing {
			status.ID, status.SHA = nil, nil
		}
		p.set(synchronized, false, reason, err.Error())
		p.set(ready, false, reason, err.Error())
	case p.suspended:
		p.set(ready, false, reasonSuspended, "the source is suspended: what it declares is not taken over until it is resumed")
	case p.untouched:
	case !p.object.GetDeletionTimestamp().IsZero():
		p.set(ready, false, reasonDeleting, p.waits)
	default:
		p.set(synchronized, true, reasonSynchronized, "the hub has what the object declares")
		p.set(readonly, status.Readonly, reasonReadonly, cond(status.Readonly, whose(p.have), "the object is managed here"))
		p.set(ready, p.have.waits == "", reasonReady, cmp.Or(p.have.waits, "ready"))
	}
	showToken(p, err)
	if equality.Semantic.DeepEqual(before, p.object) {
		return nil
	}
	if wrong := p.cluster.Status().Patch(ctx, p.object, client.MergeFrom(before)); wrong != nil {
		return wrong
	}
	p.due.Wrote(p.key, p.object.GetResourceVersion())
	p.announce(was, err)
	return nil
}

// setCredentials says what the object acts with.
func (p *pass) setCredentials() {
	switch name := p.credential.Name(); {
	case p.denied != nil:
		p.set(namespacedCredentials, false, reasonError, p.denied.Error())
	case name != "":
		p.set(namespacedCredentials, true, reasonNamespaced, "NamespaceCredentials "+name+" are used")
	default:
		p.set(namespacedCredentials, false, reasonDefault, "the operator's own credentials are used")
	}
}

// fill writes what the hub said.
func (p *pass) fill() {
	status := p.common(p.object).status
	status.ID = &p.have.id
	status.Readonly = p.action == ownership.Show
	status.SHA = &p.sha
	if status.Readonly {
		status.SHA = nil // nothing was sent
	}
	status.NotActing = nil
	for _, field := range slices.Concat(p.item.NotActing, p.have.notActing) {
		// axle apply has no use for it, and names it; here it acts.
		if field != "spec.reconciliation" && !slices.Contains(status.NotActing, field) {
			status.NotActing = append(status.NotActing, field)
		}
	}
	slices.Sort(status.NotActing)
	if p.have.show != nil {
		p.have.show(p.object)
	}
}

// whose says why the object of the hub is not changed.
func whose(have *found) string {
	if have.managed {
		return "the object of the hub is managed by " + ownership.Words(have.by) + ": it is shown and not changed"
	}
	return "others created it in the hub: it is shown and not changed"
}

func (p *pass) set(name string, is bool, reason, message string) {
	condition.Set(p.object, &p.common(p.object).status.Conditions, name, is, reason, message)
}

func cond[T any](is bool, yes, no T) T {
	if is {
		return yes
	}
	return no
}

// announce records an event, with one of the reasons Created, Adopted, Updated,
// Readonly, NotFound and Error. An error that stays the same is one event.
func (p *pass) announce(was []metav1.Condition, err error) {
	now := meta.FindStatusCondition(p.common(p.object).status.Conditions, synchronized)
	before := meta.FindStatusCondition(was, synchronized)
	changed := now != nil && (before == nil || before.Reason != now.Reason || before.Message != now.Message)
	switch {
	case err != nil && changed:
		p.event(corev1.EventTypeWarning, now.Reason, "%s", now.Message)
	case p.wrote:
		reason := map[ownership.Action]string{ownership.Create: "Created", ownership.TakeOver: "Adopted"}[p.action]
		p.event(corev1.EventTypeNormal, cmp.Or(reason, "Updated"), "%s is %s in the hub", p.item.Name, p.have.id)
	case p.action == ownership.Show && !meta.IsStatusConditionTrue(was, readonly):
		p.event(corev1.EventTypeNormal, "Readonly", "%s exists in the hub and is not changed", p.item.Name)
	}
}

func (p *pass) event(kind, reason, note string, args ...any) {
	p.events.Eventf(p.object, nil, kind, reason, "Synchronize", note, args...)
}
