package plan

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

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/agent/difference"
	"github.com/axle-cd/axle/agent/ignore"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Plan is everything that a service renders, in the order of application.
type Plan struct {
	Items []*wave.Item
	// Fail are applied after a failed sync, drainHooks when the service leaves.
	Fail, DrainHooks []*wave.Item

	ByRef    map[kubeobj.Ref]*wave.Item
	Problems []Problem
	// Missing are kinds that the cluster does not serve.
	Missing []string
	// defines holds the kinds of the plan's own CRDs, resource.group.
	defines map[string]bool
}

// Planner turns rendered objects into a plan.
type Planner struct {
	Kinds   *kubeclient.Kinds
	Cluster string
	Service Service
	// Permit says what may be planned.
	Permit tenancy.Permit
	// Before is the service's inventory; nil if it has none.
	Before *inventory.Inventory
}

// Plan prepares all objects. An error means that the API server could not be asked
// for a kind. Objects that cannot be applied are problems of the plan.
func (p Planner) Plan(ctx context.Context, objects []*unstructured.Unstructured) (*Plan, error) {
	out := &Plan{ByRef: map[kubeobj.Ref]*wave.Item{}, defines: map[string]bool{}}
	objects = flatten(objects)
	unheeded := marks{}
	for _, o := range objects {
		if o.GroupVersionKind().GroupKind() == wave.CRDKind {
			p.Kinds.Learn(kubeclient.DefinedKinds(o)...)
			out.defines[o.GetName()] = true
		}
	}
	for _, o := range objects {
		it, err := p.item(ctx, o)
		switch {
		case errcode.Is(err, errcode.Unavailable), errcode.Is(err, errcode.Unauthorized):
			return nil, err
		case err != nil:
			if unknown := (kubeclient.UnknownKind{}); errors.As(err, &unknown) {
				out.lacks(unknown.Gvk)
			}
			ref := kubeobj.Ref{Group: o.GroupVersionKind().Group, Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
			out.Problems = append(out.Problems, Problem{Source: "apply", Ref: ref, Message: fmt.Sprintf("%s: %v", ref, err)})
		case it != nil:
			out.add(it)
			unheeded.note(it.Ref, o)
		}
	}
	out.Problems = append(out.Problems, unheeded.problems()...)
	for _, list := range [][]*wave.Item{out.Items, out.Fail, out.DrainHooks} {
		slices.SortStableFunc(list, func(a, b *wave.Item) int {
			return cmp.Or(cmp.Compare(a.Order.Stage, b.Order.Stage), cmp.Compare(a.Order.Wave, b.Order.Wave),
				a.Ref.Compare(b.Ref))
		})
	}
	return out, nil
}

// lacks records a kind that is not served.
func (p *Plan) lacks(gvk schema.GroupVersionKind) {
	if name := gvk.GroupVersion().String() + "/" + gvk.Kind; !slices.Contains(p.Missing, name) {
		p.Missing = append(p.Missing, name)
	}
}

func (p *Plan) add(it *wave.Item) {
	if first, twice := p.ByRef[it.Ref]; twice {
		p.Problems = append(p.Problems, Problem{Source: "apply", Ref: it.Ref, Warning: true,
			Message: fmt.Sprintf("%s is rendered twice; the later one is applied", it.Ref)})
		*first = *it
		return
	}
	p.ByRef[it.Ref] = it
	switch it.Order.Stage {
	case wave.StageFail:
		p.Fail = append(p.Fail, it)
	case wave.StageLeave:
		p.DrainHooks = append(p.DrainHooks, it)
	default:
		p.Items = append(p.Items, it)
	}
}

// Groups splits the items into groups that may be applied together.
func (p *Plan) Groups() [][]*wave.Item { return wave.Groups(p.Items) }

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

func (p Planner) item(ctx context.Context, object *unstructured.Unstructured) (*wave.Item, error) {
	gvk := object.GroupVersionKind()
	switch {
	case gvk.Kind == "" || gvk.Version == "":
		return nil, errcode.New(errcode.Invalid, "apiVersion and kind are required")
	case object.GetName() == "":
		return nil, errcode.New(errcode.Invalid, "metadata.name is required")
	case object.GetLabels()[kubeobj.ApplySetLabel] != "":
		return nil, errcode.New(errcode.Invalid, "the label %s gives the object to another tool's apply set: remove it", kubeobj.ApplySetLabel)
	}
	kind, err := p.Kinds.Lookup(ctx, gvk)
	if err != nil {
		return nil, err
	}
	h := wave.ReadHook(object, kind, p.upgrade())
	if h.Moment == wave.MomentNever {
		return nil, nil
	}
	namespace, err := p.namespace(object, kind)
	if err != nil {
		return nil, err
	}
	if err := p.Permit.MayWrite(kind, kubeobj.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: object.GetName()}); err != nil {
		return nil, err
	}
	it := &wave.Item{
		Ref:      kubeobj.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: object.GetName()},
		Kind:     kind,
		Order:    wave.OrderOf(object, kind, h.Moment),
		Once:     wave.RunsOnce(object, kind, h),
		Recreate: wave.MayRecreate(object.GetAnnotations(), h),
		Prune:    wave.PruningOf(object.GetLabels(), object.GetAnnotations()),
		Shared:   wave.SharesOf(object.GetLabels(), object.GetAnnotations()),
		Hook:     h,
	}
	top := p.body(object, it)
	if it.Body, err = marshal(top); err != nil {
		return nil, err
	}
	if it.Hash, err = p.hash(object, it); err != nil {
		return nil, err
	}
	// The hash stays that of what was rendered: an agent that is upgraded changes nothing.
	if it.Ref.IsSecret() {
		if it.Body, err = marshal(asData(top)); err != nil {
			return nil, err
		}
	}
	p.keepOrder(it)
	return it, nil
}

// hash is the hash of the body and of what else decides what is applied.
func (p Planner) hash(object *unstructured.Unstructured, it *wave.Item) (uint64, error) {
	sum := fnv.New64a()
	if identity := object.GetAnnotations()[kubeobj.IdentityAnnotation]; it.Once && identity != "" {
		// Generated values do not make it a different run.
		sum.Write([]byte(identity))
	} else {
		sum.Write(it.Body)
	}
	for _, text := range ignore.Paths(p.Service.Ignore, it.Ref, object.GetAnnotations()) {
		if err := ignore.Check(text); err != nil {
			return 0, err
		}
		// A changed ignore rule is a change of the object: the field gets another
		// owner.
		sum.Write([]byte("\x00" + text))
	}
	return sum.Sum64(), nil
}

// upgrade reports whether another revision of the service was applied before.
func (p Planner) upgrade() bool { return p.Before != nil && p.Before.TarballDigest != "" }

// keepOrder keeps a hook that ran for this revision at the moment where it ran: an
// install then would be an upgrade now.
func (p Planner) keepOrder(it *wave.Item) {
	if !it.Hook.Runs || p.Before == nil {
		return
	}
	if had, ok := p.Before.Entries[it.Ref]; ok && had.Hook.Key == wave.RunKey(it, p.Service.Goal()) {
		it.Order, it.Hook.Moment = had.Order, had.Hook.Moment
	}
}

func (p Planner) namespace(object *unstructured.Unstructured, kind kubeobj.Kind) (string, error) {
	switch {
	case !kind.Namespaced && p.Service.EnforceNamespace:
		return "", errcode.New(errcode.Forbidden, "%s is cluster-scoped, and syncConfig.enforceNamespace allows only objects of namespace %s",
			kind.Kind, p.Service.Namespace)
	case !kind.Namespaced:
		return "", nil
	case p.Service.EnforceNamespace || object.GetNamespace() == "":
		return p.Service.Namespace, nil
	}
	return object.GetNamespace(), nil
}

// body is the object as it is applied: with our marks, without the API server's
// fields. It does not change the rendered object.
func (p Planner) body(object *unstructured.Unstructured, it *wave.Item) map[string]any {
	top := maps.Clone(object.Object)
	delete(top, "status")
	if it.Ref.Group == "rbac.authorization.k8s.io" && it.Ref.Kind == "ClusterRole" && top["aggregationRule"] != nil {
		// The control plane fills them, whatever they are: they are its own.
		delete(top, "rules")
	}
	meta, _ := top["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	for _, field := range difference.ServerFields {
		delete(meta, field)
	}
	delete(meta, "namespace")
	if it.Ref.Namespace != "" {
		meta["namespace"] = it.Ref.Namespace
	}
	labels, _ := meta["labels"].(map[string]any)
	meta["labels"] = with(labels, map[string]string{kubeobj.ManagedLabel: p.Cluster})
	marks := map[string]string{kubeobj.ServiceAnnotation: p.Service.ID, kubeobj.TrackingAnnotation: it.Ref.Tracking()}
	if it.Ref.Group == kubeobj.OwningInventoryGroup {
		marks[kubeobj.OwningInventory] = p.Service.ID
	}
	annotations, _ := meta["annotations"].(map[string]any)
	meta["annotations"] = with(annotations, marks)
	top["metadata"] = meta
	return top
}

func marshal(top map[string]any) ([]byte, error) {
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
