package terraform

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/terraform/shape"

	"github.com/axle-cd/axle/internal/email"
)

const (
	// window is how long a read waits for others of the same list. Terraform reads ten
	// objects at once.
	window = 20 * time.Millisecond
	// manyReads is from when on a list is read instead of each object, counted over
	// listLife: Terraform's reads of one list may lie far apart.
	manyReads = 4
	// listLife is how long a list answers further reads. A refresh of thousands of
	// objects is then a few lists, each as of one moment.
	listLife = 10 * time.Second
	// readLimit bounds a read for others, whose own contexts may have ended.
	readLimit = 2 * time.Minute
)

// reads answers reads of objects by few calls: from the fourth read of a list on, it is
// the list that is read, whose answer serves the next ones for a moment. A write of ours makes
// the next read ask the hub.
type reads struct {
	client *sdk.Client
	by     *hubv1.Manager

	mu      sync.Mutex
	waiting map[string]*batch
	lists   map[string]*listed
	recent  map[string]*count
	writes  int
}

// count is how many objects of a list were read since a time.
type count struct {
	n     int
	since time.Time
}

// many reports whether so many objects of a list were read of late that the list is
// less work. The lock is held.
func (r *reads) many(scope string, more int) bool {
	c := r.recent[scope]
	if c == nil || time.Since(c.since) > listLife {
		c = &count{since: time.Now()}
		r.recent[scope] = c
	}
	c.n += more
	return c.n >= manyReads
}

type batch struct {
	asked []*asked
	// next is closed when those that asked have their answers.
	next chan struct{}
}

type asked struct {
	kind   *kind
	keys   map[string]tftypes.Value
	object proto.Message
	err    error
	rows   []proto.Message
}

type listed struct {
	rows  []proto.Message
	byKey map[string]proto.Message
	until time.Time
}

func newReads(client *sdk.Client, by *hubv1.Manager) *reads {
	return &reads{client: client, by: by, waiting: map[string]*batch{}, lists: map[string]*listed{}, recent: map[string]*count{}}
}

// wrote makes the next reads ask the hub.
func (r *reads) wrote() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes++
	clear(r.lists)
}

// find returns an object by its keys, nil if the hub has none, and who manages it.
func (r *reads) find(ctx context.Context, k *kind, keys map[string]tftypes.Value) (proto.Message, *hubv1.Manager, error) {
	a, err := r.ask(ctx, k, keys)
	if err != nil {
		return nil, nil, err
	}
	if k.rows != nil {
		want := k.create.request()
		if err := shape.Fill(want.ProtoReflect(), k.attributes, shape.Values{Plan: keys}); err != nil {
			return nil, nil, err
		}
		object, by := k.rows(a.rows, want, r.by)
		return object, by, nil
	}
	if a.object == nil || k.exists != nil && !k.exists(a.object) {
		return nil, nil, nil
	}
	return a.object, managerOf(a.object, k.managerField()), nil
}

// scopeOf is the request for the list that has an object, and what tells lists apart.
func (k *kind) scopeOf(keys map[string]tftypes.Value) (request proto.Message, scope string) {
	call := k.list
	if call == nil {
		call = k.get
	}
	request, scope = call.request(), string(call.in.ProtoReflect().Descriptor().FullName())
	for _, attribute := range k.keys {
		path, ok := k.scope[attribute]
		if !ok || k.list == nil {
			continue
		}
		text := shape.TextOf(keys[attribute])
		scope += "\n" + text
		m := request.ProtoReflect()
		first, second, nested := strings.Cut(string(path), ".")
		f := m.Descriptor().Fields().ByName(protoreflect.Name(first))
		if nested {
			m = m.Mutable(f).Message()
			f = m.Descriptor().Fields().ByName(protoreflect.Name(second))
		}
		m.Set(f, protoreflect.ValueOfString(text))
	}
	return request, scope
}

// ask waits for others, and then the first one asks for all.
func (r *reads) ask(ctx context.Context, k *kind, keys map[string]tftypes.Value) (*asked, error) {
	request, scope := k.scopeOf(keys)
	mine := &asked{kind: k, keys: keys}
	r.mu.Lock()
	if l := r.lists[scope]; l != nil && time.Now().Before(l.until) {
		r.mu.Unlock()
		l.answer(mine)
		return mine, nil
	}
	b := r.waiting[scope]
	first := b == nil
	if first {
		b = &batch{next: make(chan struct{})}
		r.waiting[scope] = b
	}
	b.asked = append(b.asked, mine)
	r.mu.Unlock()
	if !first {
		select {
		case <-b.next:
			return mine, mine.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	_ = pause(ctx, window) // if this read ends, the others still get their answers
	r.mu.Lock()
	delete(r.waiting, scope)
	writes, many := r.writes, r.many(scope, len(b.asked))
	r.mu.Unlock()
	defer close(b.next)
	shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), readLimit)
	defer cancel()
	if k.get != nil && (k.list == nil || !many) {
		for _, a := range b.asked {
			a.object, a.err = a.kind.getOne(shared, r.client, a.keys)
		}
		return mine, mine.err
	}
	l, err := k.read(shared, r.client, request)
	if err != nil {
		for _, a := range b.asked {
			a.err = err
		}
		return mine, err
	}
	r.mu.Lock()
	if r.writes == writes {
		r.lists[scope] = l
	}
	r.mu.Unlock()
	for _, a := range b.asked {
		l.answer(a)
	}
	return mine, nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read reads a list.
func (k *kind) read(ctx context.Context, client *sdk.Client, request proto.Message) (*listed, error) {
	l := &listed{until: time.Now().Add(listLife), byKey: map[string]proto.Message{}}
	rows, err := k.list.all(ctx, client, request)
	if sdk.IsNotFound(err) {
		return l, nil // the place of the rows is gone, and they with it
	}
	if err != nil {
		return nil, err
	}
	if l.rows = rows; k.rows == nil {
		for _, row := range rows {
			l.byKey[k.idOf(shape.Read(row.ProtoReflect(), k.keyNodes(), nil))] = row
		}
	}
	return l, nil
}

// answer finds an object by its keys, as its own kind calls them: kinds share lists.
func (l *listed) answer(a *asked) {
	a.rows, a.object = l.rows, l.byKey[a.kind.idOf(a.keys)]
}

// getOne reads one object, nil for none.
func (k *kind) getOne(ctx context.Context, client *sdk.Client, keys map[string]tftypes.Value) (proto.Message, error) {
	request := k.get.request()
	if err := shape.Fill(request.ProtoReflect(), k.keyNodes(), shape.Values{Plan: keys}); err != nil {
		return nil, err
	}
	answer, err := k.get.do(ctx, client, request)
	if sdk.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return sdk.Single(answer, k.object), nil
}

func (k *kind) keyNodes() (all []*shape.Node) {
	for _, name := range k.keys {
		all = append(all, shape.Find(k.attributes, name))
	}
	return all
}

// idOf is the id of an import: the keys, joined by slashes.
func (k *kind) idOf(values map[string]tftypes.Value) string {
	parts := make([]string, 0, len(k.keys))
	for _, name := range k.keys {
		text := shape.TextOf(values[name])
		if n := shape.Find(k.attributes, name); n != nil && n.Fold {
			text = email.Lower(text)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "/")
}

func (k *kind) managerField() protoreflect.Name {
	if k.manager != "" {
		return k.manager
	}
	return "managed_by"
}
