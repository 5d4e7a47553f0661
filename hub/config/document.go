package config

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// askTimeout limits one call of a backend.
	askTimeout = 20 * time.Second
	// asksAtOnce limits concurrent calls.
	asksAtOnce = 8
	// knownBytes limits the cached documents; they never change, so they stay
	// until there are too many.
	knownBytes = 64 << 20
	// partKey is the only key of the values at a document's path.
	partKey = "document"
)

func newDocumentID() string { return "cfg-" + strings.ToLower(rand.Text()) }

// path returns the path of part n of a document.
func (p Place) path(id string, n int) string {
	if n > 0 {
		return fmt.Sprintf("%s%s-%d", p.Prefix, id, n)
	}
	return p.Prefix + id
}

// split splits text into parts of at most limit bytes, between characters.
func split(text string, limit int) []string {
	var parts []string
	for len(text) > limit {
		n := limit
		for n > 1 && !utf8.RuneStart(text[n]) {
			n--
		}
		parts = append(parts, text[:n])
		text = text[n:]
	}
	return append(parts, text)
}

func (p Place) write(ctx context.Context, id, text string) (parts int, err error) {
	all := split(text, max(1, p.Backend.Limit()))
	for n, part := range all {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		err := p.Backend.Write(ctx, p.path(id, n), map[string]string{partKey: part})
		cancel()
		if err != nil {
			return 0, fmt.Errorf("backend %s: %w", p.Name, err)
		}
	}
	return len(all), nil
}

func (p Place) read(ctx context.Context, id string, parts int) (string, error) {
	var text strings.Builder
	for n := range parts {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		values, err := p.Backend.Read(ctx, p.path(id, n))
		cancel()
		if err != nil {
			return "", fmt.Errorf("backend %s: %w", p.Name, err)
		}
		text.WriteString(values[partKey])
	}
	return text.String(), nil
}

func (p Place) remove(ctx context.Context, id string, parts int) error {
	for n := range parts {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		err := p.Backend.Delete(ctx, p.path(id, n))
		cancel()
		if err != nil {
			return fmt.Errorf("backend %s: %w", p.Name, err)
		}
	}
	return nil
}

// Put implements fleet.Configuration.
func (k *Keeper) Put(ctx context.Context, document []byte) (string, error) {
	return k.put(ctx, string(document), false)
}

// put inserts the row first, so that a document whose process died after
// writing it is found and deleted.
func (k *Keeper) put(ctx context.Context, text string, shared bool) (string, error) {
	d := Document{ID: newDocumentID(), Shared: shared, CreatedAt: k.now()}
	var p Place
	err := k.config.Writer.Write(ctx, func(ctx context.Context) error {
		name, err := k.defaultName(ctx)
		if err != nil {
			return err
		}
		if p, err = k.place(name); err != nil {
			return err
		}
		d.Backend, d.Parts = name, len(split(text, max(1, p.Backend.Limit())))
		if d.Ready = name == BuiltIn; d.Ready {
			if _, err := p.write(ctx, d.ID, text); err != nil {
				return err
			}
		}
		return k.config.Documents.InsertDocument(ctx, d)
	})
	if err == nil && !d.Ready {
		if _, err = p.write(ctx, d.ID, text); err == nil {
			d.Ready = true
			err = k.config.Writer.Write(ctx, func(ctx context.Context) error { return k.config.Documents.UpdateDocument(ctx, d) })
		}
	}
	if err != nil {
		return "", err
	}
	k.remember(d.ID, []byte(text))
	return d.ID, nil
}

func (k *Keeper) remember(id string, text []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, there := k.known[id]; there {
		return
	}
	if k.size+len(text) > knownBytes {
		clear(k.known)
		k.size = 0
	}
	k.known[id] = text
	k.size += len(text)
}

// Open implements fleet.Configuration.
func (k *Keeper) Open(ctx context.Context, ids []string) (map[string][]byte, map[string]error) {
	found, failed := map[string][]byte{}, map[string]error{}
	for range 2 {
		// The second round is for those that moved between the two reads.
		missing := k.recall(ids, found)
		if len(missing) == 0 {
			break
		}
		clear(failed)
		k.fetch(ctx, missing, found, failed)
		if len(failed) == 0 {
			break
		}
	}
	return found, failed
}

// recall takes cached documents and returns the ids of the rest, without
// duplicates.
func (k *Keeper) recall(ids []string, found map[string][]byte) (missing []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	asked := map[string]bool{}
	for _, id := range ids {
		if text, ok := k.known[id]; ok {
			found[id] = text
		} else if _, have := found[id]; !have && !asked[id] {
			asked[id] = true
			missing = append(missing, id)
		}
	}
	return missing
}

// fetch reads documents from the backends.
func (k *Keeper) fetch(ctx context.Context, ids []string, found map[string][]byte, failed map[string]error) {
	rows, err := k.config.Documents.DocumentsByID(ctx, ids)
	for _, id := range ids {
		failed[id] = errcode.New(errcode.Internal, "document %s does not exist; set the values again", id)
		if err != nil {
			failed[id] = err
		}
	}
	var mu sync.Mutex
	took := func(id, text string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed[id] = hideMissing(err)
			return
		}
		delete(failed, id)
		found[id] = []byte(text)
		k.remember(id, found[id])
	}
	rows = k.fetchBuiltIn(ctx, rows, took)
	var asking sync.WaitGroup
	free := make(chan struct{}, asksAtOnce)
	for _, d := range rows {
		free <- struct{}{}
		asking.Go(func() {
			defer func() { <-free }()
			text, err := k.readRow(ctx, d)
			took(d.ID, text, err)
		})
	}
	asking.Wait()
}

// hideMissing turns a missing document into an internal error: the user did not
// name it.
func hideMissing(err error) error {
	if errcode.Is(err, errcode.NotFound) {
		return errcode.New(errcode.Unavailable, "a stored document of values is missing in its backend: %w", err)
	}
	return err
}

func (k *Keeper) readRow(ctx context.Context, d Document) (string, error) {
	p, err := k.place(d.Backend)
	if err != nil {
		return "", err
	}
	return p.read(ctx, d.ID, d.Parts)
}

// fetchBuiltIn reads those in the database together and returns the others.
func (k *Keeper) fetchBuiltIn(ctx context.Context, rows []Document, took func(id, text string, err error)) (others []Document) {
	b := k.places[BuiltIn]
	var paths []string
	var mine []Document
	for _, d := range rows {
		if d.Backend != BuiltIn {
			others = append(others, d)
			continue
		}
		mine = append(mine, d)
		for n := range d.Parts {
			paths = append(paths, b.path(d.ID, n))
		}
	}
	if len(mine) == 0 {
		return others
	}
	all, err := b.Backend.(*builtIn).readMany(ctx, paths)
	for _, d := range mine {
		text, whole := "", err
		for n := range d.Parts {
			values, ok := all[b.path(d.ID, n)]
			if !ok && whole == nil {
				whole = errcode.New(errcode.NotFound, "document %s is not in the built-in backend", d.ID)
			}
			text += values[partKey]
		}
		took(d.ID, text, whole)
	}
	return others
}

const (
	// unusedFor is how long a document may be unused: the transaction that
	// refers to it commits a moment after its creation.
	unusedFor = time.Hour
	// sweepBatch and sweepPages limit one sweep.
	sweepBatch = 500
	sweepPages = 20
)

// sweep deletes unused documents among a number of them, and continues with the
// next ones the next time.
func (k *Keeper) sweep(ctx context.Context) error {
	for range sweepPages {
		unused, last, err := k.config.Inventory.UnusedDocuments(ctx, k.swept, k.now()-unusedFor.Microseconds(), sweepBatch)
		if err != nil {
			return err
		}
		for _, d := range unused {
			if err := k.drop(ctx, d); err != nil {
				k.config.Log.Warn("an unused document could not be deleted from its backend", "backend", d.Backend, logkey.Error, err)
			}
		}
		if k.swept = last; last == "" {
			break
		}
	}
	return nil
}

// drop deletes a document wherever it may be, and its row last.
func (k *Keeper) drop(ctx context.Context, d Document) error {
	for name, parts := range map[string]int{d.Backend: d.Parts, d.CopiedTo: d.CopiedParts, d.StaleIn: d.StaleParts} {
		if name == "" {
			continue
		}
		p, err := k.place(name)
		if err != nil {
			return err
		}
		if err := p.remove(ctx, d.ID, max(parts, 1)); err != nil {
			return err
		}
	}
	return k.config.Writer.Write(ctx, func(ctx context.Context) error { return k.config.Documents.DeleteDocument(ctx, d.ID) })
}
