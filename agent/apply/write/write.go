package write

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/apply/ownership"
	"github.com/axle-cd/axle/agent/apply/plan"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Refusal is the reason why one object was not written. It is a problem of that
// object and does not stop the pass.
type Refusal struct {
	Reason  string
	Message string
	// Soon says that it goes away by itself within seconds.
	Soon bool
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

const (
	// versionNever is a resourceVersion that no object has. An apply with it creates
	// an object or conflicts, and never changes one.
	versionNever = "1"
	// goneLimit bounds the wait for a deleted object before it is created again. It
	// is short, because a waiting pass delays other services. An object that takes
	// longer is created by a later pass, which does not wait.
	goneLimit = 5 * time.Second
	// serveLimit bounds the wait until a new kind is served.
	serveLimit = 10 * time.Second
	// raceTries is how often a write may lose to another writer before it is refused.
	// A controller that starts pods writes an object's status many times a second,
	// and each write makes our read outdated. The wait after a try has full jitter;
	// it doubles from raceRest up to raceRestMost.
	raceTries    = 8
	raceRest     = 25 * time.Millisecond
	raceRestMost = time.Second
)

// Live is what is known of the cluster without a request.
type Live interface {
	// Lookup returns an object with our label, and whether its absence is certain
	// (synced).
	Lookup(kind kubeobj.Kind, ref kubeobj.Ref) (live kubeobj.Live, found, synced bool)
	// Note takes the answer to an apply, before the watch delivers it.
	Note(kind kubeobj.Kind, ref kubeobj.Ref, live kubeobj.Live)
}

// Common is what the writers of all services share. It is safe for concurrent use.
type Common struct {
	live   Live
	owners *ownership.Registry
	kinds  *kubeclient.Kinds
	clock  clock.Clock

	mu sync.Mutex
	// spaces holds namespaces that were created or found, with the requested
	// settings.
	spaces map[string]string
	// rewrites are the times of recent writes that put objects back.
	rewrites map[kubeobj.Ref][]time.Time
}

// NewCommon returns what the writers of a cluster share.
func NewCommon(live Live, owners *ownership.Registry, k *kubeclient.Kinds, c clock.Clock) *Common {
	return &Common{live: live, owners: owners, kinds: k, clock: c, spaces: map[string]string{}, rewrites: map[kubeobj.Ref][]time.Time{}}
}

// Writer applies single objects for one service.
type Writer struct {
	*Common
	Client  *kubeclient.Client
	Service plan.Service
	// Targets are the objects that the service's autoscalers scale.
	Targets map[kubeobj.Ref]bool
	// NewKinds are kinds whose CRD this pass has just written.
	NewKinds map[string]bool
}

// Write brings one object to its desired state. had is its entry, nil if it was not
// in the inventory before this pass.
func (w *Writer) Write(ctx context.Context, it *wave.Item, had *inventory.Entry) (inventory.Entry, error) {
	_, _, synced := w.live.Lookup(it.Kind, it.Ref)
	again := synced && had != nil && had.Hash == it.Hash && had.UID != ""
	if again {
		if refused := w.mayRewrite(it.Ref); refused != nil {
			return inventory.Entry{}, refused
		}
	}
	v, why, meta, err := w.judge(ctx, it, had)
	for try := 0; err == nil; try++ {
		var answer *metav1.PartialObjectMetadata
		answer, err = w.act(ctx, v, why, it, meta)
		if err == nil {
			if again {
				w.rewrote(it.Ref)
			}
			return w.done(it, answer), nil
		}
		if !Raced(ctx, err, try) {
			break
		}
		v, why, meta, err = w.look(ctx, it, had)
	}
	return inventory.Entry{}, w.explain(it, err)
}

// Raced reports whether somebody created or changed an object after it was read, and
// waits before it is read again.
func Raced(ctx context.Context, err error, try int) bool {
	if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) || try+1 >= raceTries {
		return false
	}
	return try == 0 || jitter.Wait(ctx, jitter.Full(min(raceRest<<try, raceRestMost))) == nil
}

// judge decides from the watches if they are in sync. Otherwise it tries to create
// the object; an existing one answers with a conflict and is then read.
func (w *Writer) judge(ctx context.Context, it *wave.Item, had *inventory.Entry) (ownership.Verdict, string, *metav1.PartialObjectMetadata, error) {
	live, found, synced := w.live.Lookup(it.Kind, it.Ref)
	switch {
	case found:
		v, why := w.owners.Judge(w.Service, it.Ref, live, had)
		needsMeta := v == ownership.MayAdopt || v == ownership.MayApply && (live.Strings || w.Service.Strict && live.Print.Foreign != 0)
		if !needsMeta && v != ownership.MayNot && v != ownership.NotYet && v != ownership.MustWait {
			return v, why, nil, nil
		}
	case synced, had == nil:
		return ownership.MayCreate, "", nil, nil
	}
	return w.look(ctx, it, had)
}

func (w *Writer) act(ctx context.Context, v ownership.Verdict, why string, it *wave.Item, meta *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) {
	switch v {
	case ownership.MayCreate:
		return w.send(ctx, it, OnlyCreate(it.Body))
	case ownership.MayApply:
		if meta != nil {
			if err := w.take(ctx, it, meta, w.mayTake); err != nil {
				return nil, err
			}
		}
		return w.sendOrRecreate(ctx, it)
	case ownership.MayAdopt:
		if !it.Shared {
			if err := w.take(ctx, it, meta, IsDeployer); err != nil {
				return nil, err
			}
		}
		return w.sendOrRecreate(ctx, it)
	case ownership.MustWait:
		return nil, &Refusal{Message: fmt.Sprintf("apply %s: %s", it.Ref, why), Soon: true}
	case ownership.NotYet:
		w.owners.Claims.Put(it.Ref, w.Service.ID)
		fallthrough
	default:
		return nil, &Refusal{Reason: ReasonOwnership, Message: fmt.Sprintf("apply %s: %s", it.Ref, why)}
	}
}

// mayTake reports whether the fields of a manager are taken over at each write.
func (w *Writer) mayTake(manager string) bool { return w.Service.Strict && kubeobj.Human(manager) }

func (w *Writer) take(ctx context.Context, it *wave.Item, meta *metav1.PartialObjectMetadata, theirs func(string) bool) error {
	var keys []string
	if kubeobj.OwnsStrings(it.Ref, meta.ManagedFields) {
		whole, err := w.Client.Whole(ctx, it.Kind, it.Ref)
		if err != nil {
			return err
		}
		keys = DataKeys(whole)
	}
	data, err := DataOf(it.Ref, meta.ManagedFields, keys)
	if err != nil {
		return err
	}
	patch, err := takeOver(it.Ref, meta, data, theirs)
	if err != nil || patch == nil {
		return err
	}
	_, err = w.Client.Patch(ctx, it.Kind, it.Ref, types.JSONPatchType, patch)
	return err
}

// send applies, and waits for a kind that will be served soon.
func (w *Writer) send(ctx context.Context, it *wave.Item, body []byte) (*metav1.PartialObjectMetadata, error) {
	meta, err := w.Client.Apply(ctx, it.Kind, it.Ref, body)
	if !w.NewKinds[it.Kind.Resource+"."+it.Kind.Group] {
		return meta, err
	}
	waits, cancel := context.WithTimeout(ctx, serveLimit)
	defer cancel()
	for kubeclient.Unserved(err) && jitter.Wait(waits, 100*time.Millisecond) == nil {
		meta, err = w.Client.Apply(ctx, it.Kind, it.Ref, body)
	}
	return meta, err
}

func (w *Writer) sendOrRecreate(ctx context.Context, it *wave.Item) (*metav1.PartialObjectMetadata, error) {
	body, err := w.BodyFor(ctx, it)
	if err != nil {
		return nil, err
	}
	meta, err := w.sendCleared(ctx, it, body)
	if !it.Recreate || len(kubeclient.ImmutableFields(err)) == 0 {
		return meta, err
	}
	if err := w.removeAndWait(ctx, it); err != nil {
		return nil, err
	}
	return w.send(ctx, it, OnlyCreate(it.Body))
}

// removeAndWait deletes an object that is ours and waits until it is gone. The limit is not of
// its requests, which have their own: one that it ended would be an API server that does not answer.
func (w *Writer) removeAndWait(ctx context.Context, it *wave.Item) error {
	waits, cancel := context.WithTimeout(ctx, goneLimit)
	defer cancel()
	for {
		meta, err := w.Client.Get(ctx, it.Kind, it.Ref)
		if err != nil || meta == nil {
			return err
		}
		if meta.DeletionTimestamp == nil {
			gone, err := w.Client.Remove(ctx, it.Kind, it.Ref, meta.UID, meta.ResourceVersion)
			if gone || err != nil && !apierrors.IsConflict(err) {
				return err
			}
		}
		if jitter.Wait(waits, 200*time.Millisecond) != nil {
			return &Refusal{Message: fmt.Sprintf("apply %s: it was deleted to be created again and is not gone yet%s", it.Ref, kubeclient.HeldBy(meta.Finalizers)), Soon: true}
		}
	}
}

func (w *Writer) done(it *wave.Item, answer *metav1.PartialObjectMetadata) inventory.Entry {
	live := kubeobj.Reduce(it.Ref, answer)
	w.live.Note(it.Kind, it.Ref, live)
	return entryOf(it, live)
}

func entryOf(it *wave.Item, live kubeobj.Live) inventory.Entry {
	return inventory.Entry{Kind: it.Kind, Ref: it.Ref, Order: it.Order, UID: live.UID, Hash: it.Hash, Print: live.Print,
		Once: it.Once, Prune: it.Prune, Fresh: true, Lost: it.Lost}
}

// explain turns the error of one object into a refusal, unless the API server is
// unavailable, which is an error of the whole pass.
func (w *Writer) explain(it *wave.Item, err error) error {
	if _, ok := err.(*Refusal); ok {
		return err
	}
	if apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
		// Other objects may succeed: an admission webhook often hangs for one kind
		// only.
		return &Refusal{Message: kubeclient.Explain("apply", it.Ref, err) + "; an admission webhook or the storage is slow; tried again", Soon: true}
	}
	if kubeclient.Away(err) {
		return kubeclient.Unavailable(err)
	}
	if kubeclient.Unserved(err) {
		w.kinds.Forget(it.Kind)
		return &Refusal{Message: fmt.Sprintf("apply %s: the cluster no longer serves %s: install its CustomResourceDefinition", it.Ref, it.Kind)}
	}
	// A lost race is over in a moment.
	soon := apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
	if kubeclient.MissingNamespace(err) {
		w.NamespaceLost(it.Ref.Namespace)
		soon = w.Service.CreateNamespace && it.Ref.Namespace == w.Service.Namespace
	}
	return &Refusal{Message: kubeclient.Explain("apply", it.Ref, err), Soon: soon}
}

// OnlyCreate adds the version that no object has. Bodies are JSON objects from
// encoding/json, in which "metadata" is followed by a non-empty object.
func OnlyCreate(body []byte) []byte {
	key := []byte(`"metadata":{`)
	at := topLevel(body, key)
	if at < 0 {
		return body
	}
	at += len(key)
	out := make([]byte, 0, len(body)+32)
	out = append(out, body[:at]...)
	out = append(out, `"resourceVersion":"`+versionNever+`",`...)
	return append(out, body[at:]...)
}

// topLevel finds a key of the outermost object.
func topLevel(body, key []byte) int {
	depth, inText := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			if !inText && depth == 1 && bytes.HasPrefix(body[i:], key) {
				return i
			}
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// look reads an object's metadata from the API server and judges it.
func (w *Writer) look(ctx context.Context, it *wave.Item, had *inventory.Entry) (ownership.Verdict, string, *metav1.PartialObjectMetadata, error) {
	meta, err := w.Client.Get(ctx, it.Kind, it.Ref)
	if err != nil {
		return ownership.MayNot, "", nil, err
	}
	if meta == nil {
		return ownership.MayCreate, "", nil, nil
	}
	v, why := w.owners.Judge(w.Service, it.Ref, kubeobj.Reduce(it.Ref, meta), had)
	if v == ownership.MustWait {
		why += kubeclient.HeldBy(meta.Finalizers)
	}
	return v, why, meta, nil
}
