package apply

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

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// refusal is the reason why one object was not written. It is a problem of that
// object and does not stop the pass.
type refusal struct {
	reason  string
	message string
	// soon says that it goes away by itself within seconds.
	soon bool
}

func (r *refusal) Error() string { return r.message }

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

// watched is what is known of the cluster without a request.
type watched interface {
	// Lookup returns an object with our label, and whether its absence is certain
	// (synced).
	Lookup(kind kubeobj.Kind, ref kubeobj.Ref) (live kubeobj.Live, found, synced bool)
	// Note takes the answer to an apply, before the watch delivers it.
	Note(kind kubeobj.Kind, ref kubeobj.Ref, live kubeobj.Live)
}

// shared is what the writers of all services share. It is safe for concurrent use.
type shared struct {
	live   watched
	owners *registry
	kinds  *kinds
	clock  clock.Clock

	mu sync.Mutex
	// spaces holds namespaces that were created or found, with the requested
	// settings.
	spaces map[string]string
	// rewrites are the times of recent writes that put objects back.
	rewrites map[kubeobj.Ref][]time.Time
}

func newShared(live watched, owners *registry, k *kinds, c clock.Clock) *shared {
	return &shared{live: live, owners: owners, kinds: k, clock: c, spaces: map[string]string{}, rewrites: map[kubeobj.Ref][]time.Time{}}
}

// writer applies single objects for one service.
type writer struct {
	*shared
	client  *client
	service serviceInput
	// targets are the objects that the service's autoscalers scale.
	targets map[kubeobj.Ref]bool
	// newKinds are kinds whose CRD this pass has just written.
	newKinds map[string]bool
}

// write brings one object to its desired state. had is its entry, nil if it was not
// in the inventory before this pass.
func (w *writer) write(ctx context.Context, it *item, had *entry) (entry, error) {
	_, _, synced := w.live.Lookup(it.kind, it.ref)
	again := synced && had != nil && had.hash == it.hash && had.uid != ""
	if again {
		if refused := w.mayRewrite(it.ref); refused != nil {
			return entry{}, refused
		}
	}
	v, why, meta, err := w.judge(ctx, it, had)
	for try := 0; err == nil; try++ {
		var answer *metav1.PartialObjectMetadata
		answer, err = w.act(ctx, v, why, it, meta)
		if err == nil {
			if again {
				w.rewrote(it.ref)
			}
			return w.done(it, answer), nil
		}
		if !raced(ctx, err, try) {
			break
		}
		v, why, meta, err = w.look(ctx, it, had)
	}
	return entry{}, w.explain(it, err)
}

// raced reports whether somebody created or changed an object after it was read, and
// waits before it is read again.
func raced(ctx context.Context, err error, try int) bool {
	if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) || try+1 >= raceTries {
		return false
	}
	return try == 0 || jitter.Wait(ctx, jitter.Full(min(raceRest<<try, raceRestMost))) == nil
}

// judge decides from the watches if they are in sync. Otherwise it tries to create
// the object; an existing one answers with a conflict and is then read.
func (w *writer) judge(ctx context.Context, it *item, had *entry) (verdict, string, *metav1.PartialObjectMetadata, error) {
	live, found, synced := w.live.Lookup(it.kind, it.ref)
	switch {
	case found:
		v, why := w.owners.judge(w.service, it.ref, live, had)
		needsMeta := v == mayAdopt || v == mayApply && w.service.Strict && live.Print.Foreign != 0
		if !needsMeta && v != mayNot && v != notYet {
			return v, why, nil, nil
		}
	case synced, had == nil:
		return mayCreate, "", nil, nil
	}
	return w.look(ctx, it, had)
}

func (w *writer) act(ctx context.Context, v verdict, why string, it *item, meta *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) {
	switch v {
	case mayCreate:
		return w.send(ctx, it, onlyCreate(it.body))
	case mayApply:
		if w.service.Strict && meta != nil {
			if err := w.take(ctx, it, meta, kubeobj.Human); err != nil {
				return nil, err
			}
		}
		return w.sendOrRecreate(ctx, it)
	case mayAdopt:
		if err := w.take(ctx, it, meta, isDeployer); err != nil {
			return nil, err
		}
		return w.sendOrRecreate(ctx, it)
	case mustWait:
		return nil, &refusal{message: fmt.Sprintf("apply %s: %s", it.ref, why), soon: true}
	case notYet:
		w.owners.claims.put(it.ref, w.service.ID)
		fallthrough
	default:
		return nil, &refusal{reason: reasonOwnership, message: fmt.Sprintf("apply %s: %s", it.ref, why)}
	}
}

func (w *writer) take(ctx context.Context, it *item, meta *metav1.PartialObjectMetadata, theirs func(string) bool) error {
	patch, err := takeOver(meta, theirs)
	if err != nil || patch == nil {
		return err
	}
	_, err = w.client.patch(ctx, it.kind, it.ref, types.JSONPatchType, patch)
	return err
}

// send applies, and waits for a kind that will be served soon.
func (w *writer) send(ctx context.Context, it *item, body []byte) (*metav1.PartialObjectMetadata, error) {
	meta, err := w.client.apply(ctx, it.kind, it.ref, body)
	if !w.newKinds[it.kind.Resource+"."+it.kind.Group] {
		return meta, err
	}
	ctx, cancel := context.WithTimeout(ctx, serveLimit)
	defer cancel()
	for unserved(err) && jitter.Wait(ctx, 100*time.Millisecond) == nil {
		meta, err = w.client.apply(ctx, it.kind, it.ref, body)
	}
	return meta, err
}

func (w *writer) sendOrRecreate(ctx context.Context, it *item) (*metav1.PartialObjectMetadata, error) {
	body, err := w.bodyFor(ctx, it)
	if err != nil {
		return nil, err
	}
	meta, err := w.send(ctx, it, body)
	if !it.recreate || len(immutableFields(err)) == 0 {
		return meta, err
	}
	if err := w.removeAndWait(ctx, it); err != nil {
		return nil, err
	}
	return w.send(ctx, it, onlyCreate(it.body))
}

// removeAndWait deletes an object that is ours and waits until it is gone.
func (w *writer) removeAndWait(ctx context.Context, it *item) error {
	ctx, cancel := context.WithTimeout(ctx, goneLimit)
	defer cancel()
	for {
		meta, err := w.client.get(ctx, it.kind, it.ref)
		if err != nil || meta == nil {
			return err
		}
		if meta.DeletionTimestamp == nil {
			gone, err := w.client.remove(ctx, it.kind, it.ref, meta.UID, meta.ResourceVersion)
			if gone || err != nil && !apierrors.IsConflict(err) {
				return err
			}
		}
		if jitter.Wait(ctx, 200*time.Millisecond) != nil {
			return &refusal{message: fmt.Sprintf("apply %s: it was deleted to be created again and is still held by finalizers %v; it is created once it is gone", it.ref, meta.Finalizers), soon: true}
		}
	}
}

func (w *writer) done(it *item, answer *metav1.PartialObjectMetadata) entry {
	live := kubeobj.Reduce(it.ref, answer)
	w.live.Note(it.kind, it.ref, live)
	return entryOf(it, live)
}

func entryOf(it *item, live kubeobj.Live) entry {
	return entry{kind: it.kind, ref: it.ref, order: it.order, uid: live.UID, hash: it.hash, print: live.Print,
		once: it.once, prune: it.prune, fresh: true}
}

// explain turns the error of one object into a refusal, unless the API server is
// unavailable, which is an error of the whole pass.
func (w *writer) explain(it *item, err error) error {
	if _, ok := err.(*refusal); ok {
		return err
	}
	if apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
		// Other objects may succeed: an admission webhook often hangs for one kind
		// only.
		return &refusal{message: explain("apply", it.ref, err) + "; an admission webhook or the storage is slow; tried again", soon: true}
	}
	if away(err) {
		return unavailable(err)
	}
	if unserved(err) {
		w.kinds.forget(it.kind)
		return &refusal{message: fmt.Sprintf("apply %s: the cluster no longer serves %s: install its CustomResourceDefinition", it.ref, it.kind)}
	}
	// A lost race is over in a moment.
	soon := apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
	if missingNamespace(err) {
		w.namespaceLost(it.ref.Namespace)
		soon = w.service.CreateNamespace && it.ref.Namespace == w.service.Namespace
	}
	return &refusal{message: explain("apply", it.ref, err), soon: soon}
}

// onlyCreate adds the version that no object has. Bodies are JSON objects from
// encoding/json, in which "metadata" is followed by a non-empty object.
func onlyCreate(body []byte) []byte {
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
func (w *writer) look(ctx context.Context, it *item, had *entry) (verdict, string, *metav1.PartialObjectMetadata, error) {
	meta, err := w.client.get(ctx, it.kind, it.ref)
	if err != nil {
		return mayNot, "", nil, err
	}
	if meta == nil {
		return mayCreate, "", nil, nil
	}
	v, why := w.owners.judge(w.service, it.ref, kubeobj.Reduce(it.ref, meta), had)
	return v, why, meta, nil
}
