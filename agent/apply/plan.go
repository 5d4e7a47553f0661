package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/agent/difference"
	"github.com/axle-cd/axle/agent/ignore"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// plan is everything that a service renders, in the order of application.
type plan struct {
	items []*item
	// fail are applied after a failed sync, drainHooks when the service leaves.
	fail, drainHooks []*item

	byRef    map[kubeobj.Ref]*item
	problems []problemOf
	// missing are kinds that the cluster does not serve.
	missing []string
	// defines holds the kinds of the plan's own CRDs, resource.group.
	defines map[string]bool
}

// planner turns rendered objects into a plan.
type planner struct {
	kinds   *kinds
	cluster string
	service serviceInput
	// permit says what may be planned.
	permit tenancy.Permit
	// before is the service's inventory; nil if it has none.
	before *inventory
}

// plan prepares all objects. An error means that the API server could not be asked
// for a kind. Objects that cannot be applied are problems of the plan.
func (p planner) plan(ctx context.Context, objects []*unstructured.Unstructured) (*plan, error) {
	out := &plan{byRef: map[kubeobj.Ref]*item{}, defines: map[string]bool{}}
	objects = flatten(objects)
	for _, o := range objects {
		if o.GroupVersionKind().GroupKind() == crdKind {
			p.kinds.learn(definedKinds(o)...)
			out.defines[o.GetName()] = true
		}
	}
	for _, o := range objects {
		it, err := p.item(ctx, o)
		switch {
		case errcode.Is(err, errcode.Unavailable), errcode.Is(err, errcode.Unauthorized):
			return nil, err
		case err != nil:
			if unknown := (unknownKind{}); errors.As(err, &unknown) {
				out.lacks(unknown.gvk)
			}
			ref := kubeobj.Ref{Group: o.GroupVersionKind().Group, Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
			out.problems = append(out.problems, problemOf{Source: "apply", Ref: ref, Message: fmt.Sprintf("%s: %v", ref, err)})
		case it != nil:
			out.add(it)
		}
	}
	for _, list := range [][]*item{out.items, out.fail, out.drainHooks} {
		slices.SortStableFunc(list, func(a, b *item) int {
			return cmp.Or(cmp.Compare(a.order.Stage, b.order.Stage), cmp.Compare(a.order.Wave, b.order.Wave),
				a.ref.Compare(b.ref))
		})
	}
	return out, nil
}

// lacks records a kind that is not served.
func (p *plan) lacks(gvk schema.GroupVersionKind) {
	if name := gvk.GroupVersion().String() + "/" + gvk.Kind; !slices.Contains(p.missing, name) {
		p.missing = append(p.missing, name)
	}
}

func (p *plan) add(it *item) {
	if first, twice := p.byRef[it.ref]; twice {
		p.problems = append(p.problems, problemOf{Source: "apply", Ref: it.ref, Warning: true,
			Message: fmt.Sprintf("%s is rendered twice; the later one is applied", it.ref)})
		*first = *it
		return
	}
	p.byRef[it.ref] = it
	switch it.order.Stage {
	case stageFail:
		p.fail = append(p.fail, it)
	case stageLeave:
		p.drainHooks = append(p.drainHooks, it)
	default:
		p.items = append(p.items, it)
	}
}

// groups splits the items into groups that may be applied together.
func (p *plan) groups() [][]*item { return groupsOf(p.items) }

// flatten replaces lists by their items.
func flatten(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, o := range objects {
		if o == nil || len(o.Object) == 0 {
			continue
		}
		if !o.IsList() {
			all = append(all, o)
			continue
		}
		_ = o.EachListItem(func(inner runtime.Object) error {
			if u, ok := inner.(*unstructured.Unstructured); ok {
				all = append(all, u)
			}
			return nil
		})
	}
	return all
}

func (p planner) item(ctx context.Context, object *unstructured.Unstructured) (*item, error) {
	gvk := object.GroupVersionKind()
	switch {
	case gvk.Kind == "" || gvk.Version == "":
		return nil, errcode.New(errcode.Invalid, "apiVersion and kind are required")
	case object.GetName() == "":
		return nil, errcode.New(errcode.Invalid, "metadata.name is required")
	case object.GetLabels()[kubeobj.ApplySetLabel] != "":
		return nil, errcode.New(errcode.Invalid, "the label %s gives the object to another tool's apply set: remove it", kubeobj.ApplySetLabel)
	}
	kind, err := p.kinds.lookup(ctx, gvk)
	if err != nil {
		return nil, err
	}
	h := readHook(object, kind, p.upgrade())
	if h.moment == momentNever {
		return nil, nil
	}
	namespace, err := p.namespace(object, kind)
	if err != nil {
		return nil, err
	}
	if err := p.permit.MayWrite(kind, kubeobj.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: object.GetName()}); err != nil {
		return nil, err
	}
	it := &item{
		ref:      kubeobj.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: object.GetName()},
		kind:     kind,
		order:    orderOf(object, kind, h.moment),
		once:     runsOnce(object, kind, h),
		recreate: mayRecreate(object.GetAnnotations(), h),
		prune:    pruningOf(object.GetAnnotations()),
		hook:     h,
	}
	if it.body, err = p.body(object, it); err != nil {
		return nil, err
	}
	sum := fnv.New64a()
	if identity := object.GetAnnotations()[kubeobj.IdentityAnnotation]; it.once && identity != "" {
		// Generated values do not make it a different run.
		sum.Write([]byte(identity))
	} else {
		sum.Write(it.body)
	}
	for _, text := range ignore.Paths(p.service.Ignore, it.ref, object.GetAnnotations()) {
		if err := ignore.Check(text); err != nil {
			return nil, err
		}
		// A changed ignore rule is a change of the object: the field gets another
		// owner.
		sum.Write([]byte("\x00" + text))
	}
	it.hash = sum.Sum64()
	p.keepOrder(it)
	return it, nil
}

// upgrade reports whether another revision of the service was applied before.
func (p planner) upgrade() bool { return p.before != nil && p.before.tarballDigest != "" }

// keepOrder keeps a hook that ran for this revision at the moment where it ran: an
// install then would be an upgrade now.
func (p planner) keepOrder(it *item) {
	if !it.hook.runs || p.before == nil {
		return
	}
	if had, ok := p.before.entries[it.ref]; ok && had.hook.key == runKey(it, p.service.goal()) {
		it.order, it.hook.moment = had.order, had.hook.moment
	}
}

func (p planner) namespace(object *unstructured.Unstructured, kind kubeobj.Kind) (string, error) {
	switch {
	case !kind.Namespaced && p.service.EnforceNamespace:
		return "", errcode.New(errcode.Forbidden, "%s is cluster-scoped, and syncConfig.enforceNamespace allows only objects of namespace %s",
			kind.Kind, p.service.Namespace)
	case !kind.Namespaced:
		return "", nil
	case p.service.EnforceNamespace || object.GetNamespace() == "":
		return p.service.Namespace, nil
	}
	return object.GetNamespace(), nil
}

// body is the object as it is applied: with our marks, without the API server's
// fields. It does not change the rendered object.
func (p planner) body(object *unstructured.Unstructured, it *item) ([]byte, error) {
	top := maps.Clone(object.Object)
	delete(top, "status")
	meta, _ := top["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	for _, field := range difference.ServerFields {
		delete(meta, field)
	}
	delete(meta, "namespace")
	if it.ref.Namespace != "" {
		meta["namespace"] = it.ref.Namespace
	}
	labels, _ := meta["labels"].(map[string]any)
	meta["labels"] = with(labels, map[string]string{kubeobj.ManagedLabel: p.cluster})
	marks := map[string]string{kubeobj.ServiceAnnotation: p.service.ID, kubeobj.TrackingAnnotation: it.ref.Tracking()}
	if it.ref.Group == kubeobj.OwningInventoryGroup {
		marks[kubeobj.OwningInventory] = p.service.ID
	}
	annotations, _ := meta["annotations"].(map[string]any)
	meta["annotations"] = with(annotations, marks)
	top["metadata"] = meta
	body, err := json.Marshal(top)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the object cannot be written as JSON: %w", err)
	}
	return body, nil
}

func with(in map[string]any, more map[string]string) map[string]any {
	out := make(map[string]any, len(in)+len(more))
	maps.Copy(out, in)
	for key, value := range more {
		out[key] = value
	}
	return out
}
