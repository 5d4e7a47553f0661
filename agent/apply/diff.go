package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/ownership"
	"github.com/axle-cd/axle/agent/apply/prune"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/agent/apply/write"
	"github.com/axle-cd/axle/agent/difference"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/fieldname"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Diff asks the API server by dry run what an apply would make of each object. It
// writes, deletes and creates nothing, and does not change the engine. It decides as
// a Pass does, object by object. An object that a Pass would not touch costs no
// request, any other two or three. Sync windows do not apply.
func (e *Engine) Diff(ctx context.Context, permit tenancy.Permit, service Service, objects []*unstructured.Unstructured) (difference.Comparison, error) {
	c, err := e.clientOf(permit, service)
	if err != nil {
		return difference.Comparison{}, err
	}
	r := &run{Engine: e, service: service, permit: permit, client: c, before: &inventory.Inventory{Entries: map[kubeobj.Ref]inventory.Entry{}}}
	if i := e.owners.InventoryOf(service.ID); i != nil {
		r.before = i.Clone()
	}
	if r.plan, err = e.planner(service, permit, r.before).Plan(ctx, objects); err != nil {
		return difference.Comparison{}, scrubbed(service, err)
	}
	r.next = r.before.Clone()
	r.next.Goal = service.Goal()
	r.claim()
	d := &differ{run: r}
	r.writer = &write.Writer{Common: e.written, Client: c, Service: service, Targets: r.plan.Targets()}
	all, err := d.all(ctx)
	if err != nil {
		return difference.Comparison{}, scrubbed(service, err)
	}
	return e.masker.Words(all, service.Scrub, service.LookedUp), nil
}

// differ is a pass that writes nothing.
type differ struct{ *run }

// all compares every object, with the concurrency of a pass. Rendered objects come
// first, because a refused one holds the prune.
func (d *differ) all(ctx context.Context) ([]difference.Object, error) {
	out, err := d.namespace(ctx)
	if err != nil {
		return nil, err
	}
	var work []func(context.Context) (difference.Object, error)
	for _, it := range d.plan.Items {
		work = append(work, func(ctx context.Context) (difference.Object, error) { return d.one(ctx, it) })
	}
	some, err := difference.Together(ctx, d.cfg.Concurrency, work)
	if err != nil {
		return nil, err
	}
	out = append(out, some...)
	for _, p := range d.plan.Problems {
		if !p.Warning {
			out = append(out, difference.Object{Difference: difference.Difference{Ref: p.Ref, Action: difference.Refuse, Message: p.Message}})
		}
	}
	leaving, staying := d.leaving()
	why := d.held(out, leaving)
	work = nil
	for _, e := range leaving {
		if e.UID != "" {
			work = append(work, func(ctx context.Context) (difference.Object, error) { return d.left(ctx, e, why) })
		}
	}
	for _, e := range staying {
		if e.UID != "" {
			work = append(work, func(ctx context.Context) (difference.Object, error) { return d.left(ctx, e, prune.Off) })
		}
	}
	some, err = difference.Together(ctx, d.cfg.Concurrency, work)
	return append(out, some...), err
}

// namespace is the service's namespace if a pass would create it.
func (d *differ) namespace(ctx context.Context) ([]difference.Object, error) {
	ref := kubeobj.Ref{Kind: "Namespace", Name: d.service.Namespace}
	if !d.service.CreateNamespace || ref.Name == "" || len(d.plan.Items) == 0 || d.plan.ByRef[ref] != nil || d.namespaceStands() {
		return nil, nil
	}
	body, err := write.NamespaceBody(d.service, true)
	if err != nil {
		return nil, err
	}
	out := difference.Object{Difference: difference.Difference{Ref: ref, Version: "v1", Action: difference.Create}}
	out.DesiredObject, err = d.client.DryApply(ctx, write.NamespaceKind, ref, write.OnlyCreate(body))
	switch {
	case apierrors.IsConflict(err):
		return nil, nil
	case kubeclient.Away(err):
		return nil, kubeclient.Unavailable(err)
	case err != nil:
		out.Action, out.Message = difference.Refuse, kubeclient.Explain("make", ref, err)
	}
	return []difference.Object{out}, nil
}

// one compares a rendered object.
func (d *differ) one(ctx context.Context, it *wave.Item) (difference.Object, error) {
	out := difference.Object{Difference: difference.Difference{Ref: it.Ref, Version: it.Kind.Version}}
	had := d.next.Entries[it.Ref]
	if it.Hook.Runs {
		if d.ran(it) {
			return out, nil
		}
		out.Action, out.Message = difference.Run, wave.MomentNames[it.Hook.Moment]+" hook"
		return out, json.Unmarshal(it.Body, &out.DesiredObject)
	}
	if d.unchanged(it, had) {
		return d.added(ctx, it, had, out)
	}
	var known *inventory.Entry
	if old, ok := d.before.Entries[it.Ref]; ok {
		known = &old
	}
	for try := 0; ; try++ {
		made, err := d.written(ctx, it, known, out)
		if !write.Raced(ctx, err, try) {
			return d.judged(made, it, err)
		}
	}
}

// written compares an object with the result of a write.
func (d *differ) written(ctx context.Context, it *wave.Item, had *inventory.Entry, out difference.Object) (difference.Object, error) {
	if err := json.Unmarshal(it.Body, &out.DesiredObject); err != nil {
		return out, err
	}
	live, err := d.client.Whole(ctx, it.Kind, it.Ref)
	if err != nil {
		return out, err
	}
	v, why := ownership.MayCreate, ""
	object := &unstructured.Unstructured{Object: live}
	if out.LiveObject = live; live != nil {
		v, why = d.owners.Judge(d.service, it.Ref, kubeobj.Reduce(it.Ref, object), had)
	}
	body, theirs := write.OnlyCreate(it.Body), func(string) bool { return false }
	switch {
	case v == ownership.MayCreate:
	case v == ownership.MayApply && d.service.Strict:
		theirs = kubeobj.Human
	case v == ownership.MayAdopt && !it.Shared:
		theirs = write.IsDeployer
	case v == ownership.MayAdopt:
	case v != ownership.MayApply:
		out.Action, out.Message = difference.Refuse, why
		return out, nil
	}
	if v != ownership.MayCreate {
		if body, err = d.writer.BodyFor(ctx, it); err != nil {
			return out, err
		}
	}
	made, err := d.writer.DryApply(ctx, it, body)
	if err != nil {
		return out, err
	}
	out.DesiredObject = made
	if out.Action = difference.Update; live == nil {
		out.Action = difference.Create
		return out, nil
	}
	d.nameWriters(it, had, object, theirs, &out)
	return out, nil
}

// nameWriters removes fields that a take-over would leave without an owner, and names the
// writers of fields that changed although Git did not.
func (d *differ) nameWriters(it *wave.Item, had *inventory.Entry, live *unstructured.Unstructured, theirs func(string) bool, out *difference.Object) {
	before, after := live.GetManagedFields(), (&unstructured.Unstructured{Object: out.DesiredObject}).GetManagedFields()
	taken := func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "" && !kubeobj.Ours(e) && theirs(e.Manager)
	}
	rest := func(e metav1.ManagedFieldsEntry) bool { return !taken(e) }
	gone := write.Takes(it.Ref, live, taken).Difference(fieldname.Of(after, rest))
	fieldname.Remove(out.DesiredObject, gone.Leaves())
	changed := fieldname.Taken(before, after)
	if had == nil || had.Hash != it.Hash || had.Hash == 0 {
		if names := fieldname.Managers(before, taken); names != "" {
			out.Drifted, out.Message = true, "taken over from "+names
		}
		return
	}
	if d.service.Strict {
		changed = append(changed, fieldname.Added(before, kubeobj.Human)...)
	}
	if what := kubeobj.Compare(inventory.Expects(d.service.ID, *had), kubeobj.Reduce(it.Ref, live), true); what != kubeobj.Intact {
		out.Drifted, out.Message = true, strings.TrimSuffix(what.String()+": "+fieldname.Words(changed), ": ")
	}
}

// judged describes the result of a write.
func (d *differ) judged(out difference.Object, it *wave.Item, err error) (difference.Object, error) {
	var refused *write.Refusal
	switch {
	case err == nil:
	case errors.As(err, &refused):
		out.Action, out.Message = difference.Refuse, refused.Message
	case kubeclient.Unserved(err), kubeclient.MissingNamespace(err):
		out.Action, out.Message = difference.Create, "the same sync creates what it needs, so defaults are not shown"
	case len(kubeclient.ImmutableFields(err)) > 0 && it.Recreate:
		out.Action, out.Message = difference.Recreate, fmt.Sprintf("cannot be changed in place: %v", kubeclient.ImmutableFields(err))
	case kubeclient.Away(err):
		return out, kubeclient.Unavailable(err)
	default:
		out.Action, out.Message = difference.Refuse, kubeclient.Explain("apply", it.Ref, err)
	}
	return out, nil
}

// added names fields that people added to an object that a pass would not write.
func (d *differ) added(ctx context.Context, it *wave.Item, had inventory.Entry, out difference.Object) (difference.Object, error) {
	live, found, _ := d.cfg.Live.Lookup(it.Kind, it.Ref)
	if kubeobj.Compare(inventory.Expects(d.service.ID, had), live, found) != kubeobj.Added {
		return out, nil
	}
	meta, err := d.client.Get(ctx, it.Kind, it.Ref)
	switch {
	case kubeclient.Away(err):
		return out, kubeclient.Unavailable(err)
	case err != nil || meta == nil:
		return out, nil
	}
	out.Action = difference.Leave
	out.Message = fmt.Sprintf("%s: %s; they stay, because drift is only reported (drift: strict removes them)", kubeobj.Added, fieldname.Words(fieldname.Added(meta.ManagedFields, kubeobj.Human)))
	return out, nil
}

// held says why nothing would be deleted yet, in the order of settle.
func (d *differ) held(rendered []difference.Object, leaving []inventory.Entry) string {
	for _, o := range rendered {
		if o.Action == difference.Refuse {
			return "nothing is deleted while something cannot be applied"
		}
	}
	if d.service.Partial != "" {
		return d.service.Partial
	}
	if parts := d.service.LeftOut; len(parts) > 0 && objectsOf(leaving) > 0 && !d.next.Released(inventory.HeldForParts, d.service.PruneApproval) {
		return "a part of the service was left out: " + parts[0]
	}
	if limited := d.pruneLimit(leaving); limited != "" {
		return limited + ": it waits for `axle services approve-prune`"
	}
	if awaited := d.owners.Claims.Awaited(d.service, leaving); len(awaited) > 0 && !d.next.Released(inventory.HeldForOthers, d.service.PruneApproval) {
		return "it may be taken over by " + awaitedWords(awaited)
	}
	return ""
}

// left compares an object that is no longer rendered, in the order of pruneOne.
func (d *differ) left(ctx context.Context, e inventory.Entry, held string) (difference.Object, error) {
	out := difference.Object{Difference: difference.Difference{Ref: e.Ref, Version: e.Kind.Version}}
	live, err := d.client.Whole(ctx, e.Kind, e.Ref)
	switch {
	case kubeclient.Unserved(err):
		return out, nil
	case kubeclient.Away(err):
		return out, kubeclient.Unavailable(err)
	case err != nil:
		out.Action, out.Message = difference.Refuse, kubeclient.Explain("delete", e.Ref, err)
		return out, nil
	case live == nil:
		return out, nil
	}
	what := prune.Guard(d.service.ID, kubeobj.Reduce(e.Ref, &unstructured.Unstructured{Object: live}), true)
	if what != prune.Delete && what != prune.Wait {
		return out, nil
	}
	heir, _ := d.owners.Claims.Heir(d.service.ID, e.Ref)
	out.LiveObject = live
	switch {
	case held == prune.Off:
		out.Action, out.Message, out.DesiredObject = difference.Leave, "no longer rendered; it stays, because "+held, live
	case held != "":
		out.Action, out.Message = difference.Hold, held
	case heir != "":
		out.Action, out.Message, out.DesiredObject = difference.Leave, "handed over to service "+heir+", which renders it", live
	case !prune.Prunable(d.next, e):
		out.Action, out.Message, out.DesiredObject = difference.Leave, "no longer rendered; it may not be deleted and stays without our marks", live
	default:
		if out.Action = difference.Delete; what == prune.Wait {
			out.Message = "it is being deleted" + prune.HeldBy(ctx, d.client, e)
		}
	}
	return out, nil
}
