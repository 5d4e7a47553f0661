package drift

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unique"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/kubepage"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// A watch is reopened after streamMin to twice that, as reflectors do, so that
	// API servers can rebalance load.
	streamMin = 5 * time.Minute
	// The back-off for a watch that cannot be opened.
	retryMin = time.Second
	retryMax = time.Minute
	// listPage bounds one page of API servers without streamed lists.
	listPage = 500
	// maxHealthMessage bounds the stored message of a rule.
	maxHealthMessage = 256

	acceptWhole    = "application/json"
	acceptMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	acceptList     = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// errExpired says that the API server no longer has the version.
var errExpired = errors.New("the version is too old")

func (w *Watcher) newKindWatch(kind kubeobj.Kind) *kindWatch {
	secret := kind.Group == "" && kind.Kind == "Secret"
	return &kindWatch{kind: kind, whole: w.cfg.Rules.HasRule(kind.GroupKind()) && !secret, custom: w.cfg.Rules.Custom(kind.GroupKind()),
		objects: map[name]kubeobj.Live{}, settled: make(chan struct{})}
}

// stream is one run of a watch.
type stream struct {
	w *Watcher
	k *kindWatch
	// version is where the next watch starts; empty starts with everything.
	version string
	// seen are the objects of an initial list, until it is complete.
	seen map[name]bool
	// paged: the API server cannot stream a list.
	paged bool
	// verifyAt is when to list everything again although the watch is healthy.
	verifyAt time.Time
}

// follow keeps the watch of a kind open until the context ends.
func (w *Watcher) follow(ctx context.Context, k *kindWatch) {
	s := &stream{w: w, k: k}
	backoff := jitter.Backoff{Min: retryMin, Max: retryMax}
	for ctx.Err() == nil {
		began := w.cfg.Clock.Now()
		err := s.once(ctx)
		if ctx.Err() != nil {
			break
		}
		switch {
		case err == nil:
			backoff.Reset()
			continue
		case errors.Is(err, errExpired), apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			s.version = ""
			continue
		case !s.paged && s.version == "" && (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)):
			s.paged = true
			continue
		}
		if w.cfg.Clock.Now().Sub(began) > streamMin {
			backoff.Reset()
		}
		w.lost(k, err)
		select {
		case <-ctx.Done():
		case <-w.cfg.Clock.After(backoff.Next()):
		}
	}
}

// once opens the watch and reads it until it ends. A nil error means that the API
// server ended it.
func (s *stream) once(ctx context.Context) error {
	if s.version == "" && s.paged {
		if err := s.list(ctx); err != nil {
			return err
		}
	}
	s.verify(ctx)
	limit := streamMin + jitter.Full(streamMin)
	ctx, cancel := context.WithTimeout(ctx, limit+time.Minute)
	defer cancel()
	req := s.request().Param("watch", "true").Param("allowWatchBookmarks", "true").
		Param("timeoutSeconds", strconv.Itoa(int(limit/time.Second))).SetHeader("Accept", s.accept())
	if s.version == "" {
		s.seen = map[name]bool{}
		req = req.Param("sendInitialEvents", "true").Param("resourceVersionMatch", "NotOlderThan")
	} else {
		s.seen = nil
		req = req.Param("resourceVersion", s.version)
	}
	body, err := req.MaxRetries(0).Stream(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	if s.version != "" {
		s.w.inSync(s.k)
	}
	return s.read(ctx, body)
}

func (s *stream) request() *rest.Request {
	k := s.k.kind
	path := "/apis/" + k.Group + "/" + k.Version + "/" + k.Resource
	if k.Group == "" {
		path = "/api/" + k.Version + "/" + k.Resource
	}
	return s.w.rest.Get().AbsPath(path).Param("labelSelector", kubeobj.ManagedLabel+"="+s.w.cfg.ClusterID)
}

func (s *stream) accept() string {
	if s.k.whole {
		return acceptWhole
	}
	return acceptMetadata
}

type frame struct {
	Type   string
	Object json.RawMessage
}

func (s *stream) read(ctx context.Context, body io.Reader) error {
	decoder := json.NewDecoder(bufio.NewReaderSize(body, 32<<10))
	for {
		var f frame
		if err := decoder.Decode(&f); err != nil {
			if errors.Is(err, io.EOF) && s.version != "" {
				return nil
			}
			return fmt.Errorf("the watch of %s failed: %w", s.k.kind, err)
		}
		if err := s.take(ctx, f); err != nil {
			return err
		}
	}
}

func (s *stream) take(ctx context.Context, f frame) error {
	switch f.Type {
	case "ADDED", "MODIFIED", "DELETED":
		ref, live, q, err := s.reduce(f.Object)
		if err != nil {
			return err
		}
		if f.Type == "DELETED" {
			s.w.gone(s.k, ref, live)
		} else {
			if s.seen != nil {
				s.seen[name{ref.Namespace, ref.Name}] = true
			}
			s.w.saw(ctx, s.k, ref, live, q)
		}
		if s.seen == nil {
			s.version = live.ResourceVersion
		}
	case "BOOKMARK":
		var mark metav1.PartialObjectMetadata
		if err := json.Unmarshal(f.Object, &mark); err != nil {
			return fmt.Errorf("read a bookmark of %s: %w", s.k.kind, err)
		}
		if s.seen != nil && mark.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
			return nil
		}
		s.version = mark.ResourceVersion
		s.complete(ctx)
	case "ERROR":
		var status metav1.Status
		if err := json.Unmarshal(f.Object, &status); err != nil {
			return fmt.Errorf("read an error of %s: %w", s.k.kind, err)
		}
		if status.Code == 410 {
			return errExpired
		}
		return apierrors.FromObject(&status)
	}
	return nil
}

// complete ends an initial list: objects that were not in it are gone.
func (s *stream) complete(ctx context.Context) {
	if s.seen == nil {
		return
	}
	s.w.keepOnly(s.k, s.seen, s.version)
	s.w.firstVerdicts(ctx, s.k.kind)
	s.seen = nil
	s.verifyAt = s.w.cfg.Clock.Now().Add(jitter.Around(verifyEvery, verifyEvery/8))
	s.w.inSync(s.k)
}

// list reads everything page by page, for API servers that cannot stream it.
func (s *stream) list(ctx context.Context) error {
	s.seen = map[name]bool{}
	next := ""
	for {
		accept := acceptList
		if s.k.whole {
			accept = acceptWhole
		}
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		page, err := kubepage.Each(limited, s.request().Param("limit", strconv.Itoa(listPage)).Param("continue", next).SetHeader("Accept", accept), func(item []byte) error {
			ref, live, q, err := s.reduce(item)
			if err == nil {
				s.seen[name{ref.Namespace, ref.Name}] = true
				s.w.saw(ctx, s.k, ref, live, q)
			}
			return err
		})
		cancel()
		if err != nil {
			return err
		}
		if next = page.Continue; next == "" {
			s.version = page.ResourceVersion
			s.complete(ctx)
			return nil
		}
	}
}

// reduce keeps the part of an object that decisions need. managedFields are read as
// raw bytes, so that their hash equals that of an apply's answer. An object that is
// judged elsewhere has a question instead of a health.
func (s *stream) reduce(raw json.RawMessage) (kubeobj.Ref, kubeobj.Live, *question, error) {
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &meta); err != nil {
		return kubeobj.Ref{}, kubeobj.Live{}, nil, fmt.Errorf("read an object of %s: %w", s.k.kind, err)
	}
	ref := kubeobj.Ref{Group: s.k.kind.Group, Kind: s.k.kind.Kind, Namespace: meta.Namespace, Name: meta.Name}
	live := kubeobj.Reduce(ref, &meta)
	if live.Deleting && !s.k.whole {
		// Kinds without a rule are healthy once they exist, but not while they go.
		live.Health, live.Message = string(health.Progressing), "pending deletion"
	}
	if s.k.whole {
		if meta.DeletionTimestamp == nil {
			if q := s.question(raw, ref, live); q != nil {
				return ref, s.w.intern(live), q, nil
			}
		}
		result, err := s.judge(raw)
		if err != nil {
			return ref, live, nil, fmt.Errorf("read an object of %s: %w", s.k.kind, err)
		}
		live.Health, live.Message = string(result.Status), short(result.Message)
	}
	return ref, s.w.intern(live), nil, nil
}

// judge returns the health of an object. One that becomes too large is left alone: whoever
// wrote it is not to take the memory of all others.
func (s *stream) judge(raw json.RawMessage) (health.Result, error) {
	if err := bounded.CheckJSON(raw, nil, kubepage.Most); err != nil {
		return health.Result{Status: health.Unknown, Message: "its health is not judged: " + err.Error()}, nil
	}
	var object unstructured.Unstructured
	if err := object.UnmarshalJSON(s.typed(raw)); err != nil {
		return health.Result{}, err
	}
	return s.w.cfg.Rules.Of(&object), nil
}

// typed adds the kind to an item of a list, which has none.
func (s *stream) typed(raw json.RawMessage) []byte {
	if bytes.HasPrefix(raw, []byte(`{"kind"`)) || bytes.HasPrefix(raw, []byte(`{"apiVersion"`)) {
		return raw
	}
	head := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, s.k.kind.Kind, s.k.kind.APIVersion())
	return append([]byte(head), bytes.TrimPrefix(raw, []byte("{"))...)
}

// intern shares strings that many objects have in common, and detaches the others
// from the buffers they were read from.
func (w *Watcher) intern(live kubeobj.Live) kubeobj.Live {
	live.Service = unique.Make(live.Service).Value()
	live.Health = unique.Make(live.Health).Value()
	live.Message = unique.Make(live.Message).Value()
	live.Print.Human = unique.Make(live.Print.Human).Value()
	live.Print.Other = unique.Make(live.Print.Other).Value()
	if live.Cluster == w.cfg.ClusterID {
		live.Cluster = w.cfg.ClusterID
	}
	return live
}

func short(text string) string {
	if len(text) <= maxHealthMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxHealthMessage], "") + "…"
}

// newer reports whether version a is not before b. Versions are numbers on all known
// API servers; if they are not, the later arrival wins.
func newer(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a >= b
}

// saw records an object that a watch delivered, and asks its question if it has one.
func (w *Watcher) saw(ctx context.Context, k *kindWatch, ref kubeobj.Ref, live kubeobj.Live, q *question) {
	if q != nil {
		w.room(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := name{ref.Namespace, ref.Name}
	old, had := k.objects[at]
	if had && !newer(live.ResourceVersion, old.ResourceVersion) {
		return
	}
	if q != nil {
		live = w.askLocked(k, q, live, old, had)
	} else {
		w.forgetLocked(k, ref)
	}
	k.objects[at] = live
	w.paceLocked(ref, live)
	if k.state != synced {
		return
	}
	if had && (old.Health != live.Health || old.Message != live.Message) || !had && k.whole {
		w.tellLocked(live.Service)
	}
	w.dirtyLocked(ref)
}

// gone records that an object was deleted or lost our label.
func (w *Watcher) gone(k *kindWatch, ref kubeobj.Ref, live kubeobj.Live) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := name{ref.Namespace, ref.Name}
	old, had := k.objects[at]
	if !had || !newer(live.ResourceVersion, old.ResourceVersion) {
		return
	}
	delete(k.objects, at)
	delete(w.stalls, ref)
	w.forgetLocked(k, ref)
	w.tellLocked(old.Service)
	w.dirtyLocked(ref)
}

// keepOnly drops objects that are not in a complete list, except those noted after
// the list was taken.
func (w *Watcher) keepOnly(k *kindWatch, seen map[name]bool, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for at, old := range k.objects {
		if !seen[at] && newer(version, old.ResourceVersion) {
			ref := kubeobj.Ref{Group: k.kind.Group, Kind: k.kind.Kind, Namespace: at.namespace, Name: at.name}
			delete(k.objects, at)
			delete(w.stalls, ref)
			w.forgetLocked(k, ref)
			w.tellLocked(old.Service)
			w.dirtyLocked(ref)
		}
	}
}

// inSync is called once a watch has delivered everything.
func (w *Watcher) inSync(k *kindWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if k.state == synced {
		return
	}
	k.state, k.message = synced, ""
	settle(k)
	w.recheckKindLocked(k)
}

// lost is called when a watch ended and could not be reopened.
func (w *Watcher) lost(k *kindWatch, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if k.state != unknown {
		k.compareAt = w.cfg.Clock.Now().Add(jitter.Around(compareEvery, compareEvery/10))
		w.cfg.Log.Warn("watch is broken", logkey.Kind, k.kind.String(), logkey.Error, err)
	}
	k.state, k.message = unknown, "it cannot be watched: "+short(err.Error())
	settle(k)
	w.recheckKindLocked(k)
}

func settle(k *kindWatch) {
	select {
	case <-k.settled:
	default:
		close(k.settled)
	}
}
