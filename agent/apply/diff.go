package apply

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/scrub"
)

// Action is what an apply would do with an object.
type Action string

// The actions.
const (
	ActionCreate   Action = "create"
	ActionUpdate   Action = "update"
	ActionRecreate Action = "recreate"
	ActionDelete   Action = "delete"
	// ActionRun is a hook's.
	ActionRun Action = "run"
	// ActionRefuse is of an object that would not be written; Message says why.
	ActionRefuse Action = "refuse"
)

// Difference is one object that an apply would change.
type Difference struct {
	Ref     kubeobj.Ref
	Version string
	Action  Action
	// Desired and Live are YAML, scrubbed, with the values of Secrets as keyed
	// hashes and without what the API server writes. Empty is absent.
	Desired, Live string
	Message       string
}

// Comparison is what an apply would do.
type Comparison struct {
	Differences []Difference
	Unchanged   int
}

// compared is a Difference whose objects are not texts yet.
type compared struct {
	Difference
	desired, live map[string]any
}

// secretHash is how long the hash of a secret value is shown.
const secretHash = 8

// minSecret is the shortest value of a Secret that is looked for in other
// objects.
const minSecret = 8

// Diff asks the API server what applying objects would make of each, as a dry
// run: nothing is written, deleted or made, and nothing of the engine changes.
// It takes two requests an object.
func (e *Engine) Diff(ctx context.Context, permit tenancy.Permit, service Service, objects []*unstructured.Unstructured) (Comparison, error) {
	c, err := e.clientOf(permit, service)
	if err != nil {
		return Comparison{}, err
	}
	e.mu.RLock()
	inv := &inventory{entries: map[kubeobj.Ref]entry{}}
	if t := e.services[service.ID]; t != nil && t.inventory != nil {
		inv = t.inventory.clone()
	}
	e.mu.RUnlock()
	p, err := planner{kinds: e.kinds, cluster: e.cfg.ClusterID, service: service, permit: permit, before: inv}.plan(ctx, objects)
	if err != nil {
		return Comparison{}, scrubbed(service, err)
	}
	d := &differ{Engine: e, service: service, client: c, inventory: inv, plan: p}
	all, err := d.all(ctx)
	if err != nil {
		return Comparison{}, scrubbed(service, err)
	}
	return d.words(all), nil
}

// differ is one dry run.
type differ struct {
	*Engine
	service   Service
	client    *client
	inventory *inventory
	plan      *plan
}

// all compares every object, as many at once as a pass writes.
func (d *differ) all(ctx context.Context) ([]compared, error) {
	var work []func(context.Context) (compared, error)
	for _, it := range d.plan.items {
		work = append(work, func(ctx context.Context) (compared, error) { return d.one(ctx, it) })
	}
	for _, e := range d.inventory.sorted() {
		if it := d.plan.byRef[e.ref]; it == nil && e.uid != "" {
			work = append(work, func(ctx context.Context) (compared, error) { return d.left(ctx, e) })
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([]compared, len(work))
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := 0
	for range min(d.cfg.Concurrency, len(work)) {
		wg.Go(func() {
			for {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if n >= len(work) || ctx.Err() != nil {
					return
				}
				var err error
				if out[n], err = work[n](ctx); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, p := range d.plan.problems {
		if !p.Warning {
			out = append(out, compared{Difference: Difference{Ref: p.Ref, Action: ActionRefuse, Message: p.Message}})
		}
	}
	return out, nil
}

// one compares an object that is rendered.
func (d *differ) one(ctx context.Context, it *item) (compared, error) {
	out := compared{Difference: Difference{Ref: it.ref, Version: it.kind.Version}}
	var rendered map[string]any
	if err := json.Unmarshal(it.body, &rendered); err != nil {
		return out, err
	}
	if it.hook.runs {
		if e := d.inventory.entries[it.ref]; e.hook.key != runKey(it, d.service.goal()) {
			out.Action, out.desired, out.Message = ActionRun, rendered, momentNames[it.hook.moment]+" hook"
		}
		return out, nil
	}
	live, err := d.client.whole(ctx, it.kind, it.ref)
	if err != nil && !unserved(err) {
		return d.refused(out, it, err)
	}
	out.live, out.desired = live, rendered
	if live != nil {
		if why := d.foreign(it.ref, kubeobj.Reduce(it.ref, &unstructured.Unstructured{Object: live})); why != "" {
			out.Action, out.Message = ActionRefuse, why
			return out, nil
		}
	}
	desired, err := d.client.dryApply(ctx, it.kind, it.ref, it.body)
	switch {
	case unserved(err), missingNamespace(err):
		out.Action, out.Message = ActionCreate, "what it needs is made by the same sync, so defaults are not shown"
		return out, nil
	case len(immutableFields(err)) > 0 && it.recreate:
		out.Action, out.Message = ActionRecreate, fmt.Sprintf("cannot be changed in place: %v", immutableFields(err))
		return out, nil
	case err != nil:
		return d.refused(out, it, err)
	}
	out.desired = desired
	if out.Action = ActionUpdate; live == nil {
		out.Action = ActionCreate
	}
	return out, nil
}

func (d *differ) refused(out compared, it *item, err error) (compared, error) {
	if away(err) {
		return out, unavailable(err)
	}
	out.Action, out.Message = ActionRefuse, explain("apply", it.ref, err)
	return out, nil
}

// foreign says why a live object would not be written.
func (d *differ) foreign(ref kubeobj.Ref, live kubeobj.Live) string {
	had := d.inventory.entries[ref]
	switch {
	case had.uid != "" && had.uid == live.UID && (live.Service == "" || !live.Tracked) && d.taker(d.service.ID, ref, live.UID) == "":
		return ""
	case live.Owned(d.service.ID), live.CreatedFor, d.service.Adopt, !d.service.RequireOwnership:
		return ""
	case live.Tracked && live.Service != "":
		return fmt.Sprintf("it belongs to service %s", live.Service)
	}
	return "it exists and no service of ours made it"
}

// left compares an object that is not rendered any more.
func (d *differ) left(ctx context.Context, e entry) (compared, error) {
	out := compared{Difference: Difference{Ref: e.ref, Version: e.kind.Version}}
	live, err := d.client.whole(ctx, e.kind, e.ref)
	switch {
	case unserved(err):
		return out, nil
	case away(err):
		return out, unavailable(err)
	case err != nil:
		out.Action, out.Message = ActionRefuse, explain("delete", e.ref, err)
		return out, nil
	case live == nil, !kubeobj.Reduce(e.ref, &unstructured.Unstructured{Object: live}).Owned(d.service.ID):
		return out, nil
	}
	out.live = live
	if out.Action = ActionDelete; !prunable(d.inventory, e) {
		out.Action, out.Message = "", ""
	}
	return out, nil
}

// words turns what was compared into texts without secrets.
func (d *differ) words(all []compared) Comparison {
	hidden := map[string]string{}
	for _, c := range all {
		for _, object := range []map[string]any{c.desired, c.live} {
			d.hide(c.Ref, object, hidden)
			bare(object)
		}
	}
	more := scrub.New(hidden)
	text := func(object map[string]any) string {
		if object == nil {
			return ""
		}
		raw, err := yaml.Marshal(object)
		if err != nil {
			return ""
		}
		return more.String(d.service.Scrub.String(string(raw)))
	}
	var out Comparison
	for _, c := range all {
		c.Desired, c.Live, c.Message = text(c.desired), text(c.live), more.String(d.service.Scrub.String(c.Message))
		if c.Action == "" || c.Action == ActionUpdate && c.Desired == c.Live {
			out.Unchanged++
			continue
		}
		if c.Action == ActionDelete {
			c.Desired = ""
		}
		out.Differences = append(out.Differences, c.Difference)
	}
	return out
}

// hide replaces the values of a Secret by keyed hashes, and notes them so that
// they are found where other objects repeat them.
func (d *differ) hide(ref kubeobj.Ref, object map[string]any, hidden map[string]string) {
	if object == nil || ref.Group != "" || ref.Kind != "Secret" {
		return
	}
	for _, field := range []string{"data", "stringData"} {
		values, _ := object[field].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			value := fmt.Sprint(values[key])
			if plain, err := base64.StdEncoding.DecodeString(value); err == nil && field == "data" {
				value = string(plain)
			}
			if len(value) >= minSecret {
				hidden[fmt.Sprintf("%s/%s.%s#%s", ref.Namespace, ref.Name, key, d.hash(value))] = value
			}
			values[key] = "[hash " + d.hash(value) + "]"
		}
	}
}

func (d *differ) hash(value string) string {
	mac := hmac.New(sha256.New, d.diffKey)
	mac.Write([]byte(value))
	return hex.EncodeToString(mac.Sum(nil))[:secretHash]
}

// newDiffKey makes the key of an agent's life: hashes compare within it, and
// nobody can try values against them.
func newDiffKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return key
}

// bare removes what the API server and we write, and copies of the object in
// annotations.
func bare(object map[string]any) {
	if object == nil {
		return
	}
	delete(object, "status")
	meta, _ := object["metadata"].(map[string]any)
	for _, field := range serverFields {
		delete(meta, field)
	}
	for field, keys := range map[string][]string{
		"labels":      {kubeobj.ManagedLabel},
		"annotations": {kubeobj.ServiceAnnotation, kubeobj.TrackingAnnotation, "kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision"},
	} {
		marks, _ := meta[field].(map[string]any)
		for _, key := range keys {
			delete(marks, key)
		}
		if len(marks) == 0 {
			delete(meta, field)
		}
	}
}

// whole reads an object; nil without an error when there is none.
func (c *client) whole(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref) (map[string]any, error) {
	var object map[string]any
	err := c.raw(ctx, path(kind, ref.Namespace, ref.Name), nil, &object)
	if apierrors.IsNotFound(err) && !unserved(err) {
		return nil, nil
	}
	return object, err
}

// dryApply is apply that changes nothing and answers with the whole object.
func (c *client) dryApply(ctx context.Context, kind kubeobj.Kind, ref kubeobj.Ref, body []byte) (map[string]any, error) {
	result, err := c.do(ctx, func() *rest.Request {
		return c.rest.Patch(types.ApplyPatchType).AbsPath(path(kind, ref.Namespace, ref.Name)).SetHeader("Accept", "application/json").
			Param("fieldManager", kubeobj.FieldManager).Param("force", "true").Param("dryRun", "All").Body(body)
	})
	if err != nil {
		return nil, err
	}
	raw, err := result.Raw()
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, errors.New("the answer to a dry run is no object")
	}
	return object, nil
}
