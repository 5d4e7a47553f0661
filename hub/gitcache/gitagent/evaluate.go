package gitagent

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/repoagent"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/gitobject"
	"github.com/axle-cd/axle/internal/logkey"
)

// look is what a source's content depended on when it was last evaluated.
type look struct {
	commit string
	tree   string
	probes []string // empty: evaluate again at another commit
	// key and failed are those of the row that the source had afterwards. A database
	// that lost its last seconds has another one.
	key    string
	failed bool
}

// left reports whether the stored row is the one that the look left.
func (l look) left(h record.Head) bool { return l.key == h.Key && l.failed == (h.Error != "") }

// task is a source that must be evaluated, at a commit or for an error.
type task struct {
	source record.Source
	old    record.Head
	commit string
	err    error
}

// outcome is the result of a task. Head is nil when the stored row is right;
// again is why the next pass must evaluate it again.
type outcome struct {
	task     task
	head     *record.Head
	artifact *record.Artifact
	look     look
	again    error
}

// Evaluate implements repoagent.Remote. A mirror that turned out to be damaged
// is healed behind it.
func (a remote) Evaluate(ctx context.Context, sources []record.Source, cause error) (err error) {
	switch {
	case cause == nil:
		err = a.evaluate(ctx, sources)
	case sources == nil:
		return nil
	default:
		if err = a.evaluateFromMirror(ctx, sources, cause); !errcode.Is(err, errcode.Conflict) {
			err = nil
		}
	}
	if m, _, _ := a.copy(); m != nil {
		a.Holds(m.Size())
		a.config.Budget.Used(a.Config.RepositoryID, m.Size())
	}
	if errcode.Is(err, errcode.Conflict) || ctx.Err() != nil {
		return err
	}
	if damage := a.heal(ctx); damage != nil {
		return damage
	}
	return err
}

// evaluate determines what each source points at and writes the heads that
// changed. It skips a source that no difference since its last evaluation
// touches, so a commit costs what it changes.
func (a *Agent) evaluate(ctx context.Context, sources []record.Source) error {
	if err := a.LoadHeads(ctx); err != nil {
		return err
	}
	e := a.newEvaluation()
	tasks, err := e.due(ctx, sources)
	if err != nil {
		return err
	}
	for id := range a.evaluated {
		if !e.known[id] {
			delete(a.evaluated, id)
		}
	}
	err = e.run(ctx, tasks)
	if err != nil {
		clear(a.evaluated) // what was not written is looked at again
	}
	return err
}

// evaluation is one round over the sources.
type evaluation struct {
	agent  *Agent
	mirror *mirror.Mirror
	reader *mirror.Reader
	table  *mirror.Table
	known  map[string]bool // sources
	// wait is set when content of other repositories may be fetched in the
	// background.
	wait bool

	mu      sync.Mutex
	commits map[string]mirror.Commit
	changes map[[2]string]*mirror.Change
	builds  map[string]*build
}

func (a *Agent) newEvaluation() *evaluation {
	m, r, t := a.copy()
	return &evaluation{agent: a, mirror: m, reader: r, table: t, known: map[string]bool{}, wait: true,
		commits: map[string]mirror.Commit{}, changes: map[[2]string]*mirror.Change{}, builds: map[string]*build{}}
}

// due returns the sources that must be evaluated: first those whose existing
// content may have changed, then the new ones.
func (e *evaluation) due(ctx context.Context, sources []record.Source) ([]task, error) {
	a := e.agent
	var tasks []task
	for _, s := range sources {
		e.known[s.ID] = true
		old := a.Heads[s.ID]
		commit, err := a.resolve(ctx, e.mirror, e.table, s.Ref)
		if last, ok := a.evaluated[s.ID]; ok && err == nil && old.SourceID != "" && last.left(old) {
			same, err := e.same(ctx, &last, commit)
			if err != nil {
				return nil, err
			}
			if same {
				a.evaluated[s.ID] = last
				continue
			}
		}
		tasks = append(tasks, task{s, old, commit, err})
	}
	slices.SortStableFunc(tasks, func(x, y task) int { return cmp.Compare(rank(x), rank(y)) })
	return tasks, nil
}

func rank(t task) int {
	if t.old.SourceID == "" {
		return 1
	}
	return 0
}

// same reports whether the content is the same at another commit, and moves the
// look there.
func (e *evaluation) same(ctx context.Context, last *look, commit string) (bool, error) {
	if last.commit == commit {
		return true, nil
	}
	if len(last.probes) == 0 {
		return false, nil
	}
	c, err := e.commit(ctx, commit)
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return false, nil // the source reports the error
	}
	change, ok := e.changes[[2]string{last.tree, c.Tree}]
	if !ok {
		if change, err = e.reader.Diff(ctx, last.tree, c.Tree); err != nil {
			return false, ctx.Err() // an old tree may be gone
		}
		e.changes[[2]string{last.tree, c.Tree}] = change
	}
	if change.Touches(last.probes) {
		return false, nil
	}
	last.commit, last.tree = c.ID, c.Tree
	return true, nil
}

func (e *evaluation) commit(ctx context.Context, id string) (mirror.Commit, error) {
	e.mu.Lock()
	c, ok := e.commits[id]
	e.mu.Unlock()
	if ok {
		return c, nil
	}
	c, err := e.mirror.Commit(ctx, id)
	if err == nil {
		e.mu.Lock()
		e.commits[id] = c
		e.mu.Unlock()
	}
	return c, err
}

// run executes the tasks, as many at once as there are cores, and writes heads
// as they come. After a kick, new sources wait: those with services come first.
func (e *evaluation) run(ctx context.Context, tasks []task) error {
	if len(tasks) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	todo, done := make(chan task), make(chan outcome)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	for range min(len(tasks), runtime.GOMAXPROCS(0), maxWorkers) {
		workers.Go(func() {
			for t := range todo {
				select {
				case done <- e.head(ctx, t):
				case <-ctx.Done():
					return
				}
			}
		})
	}
	defer close(todo)
	w := e.agent.HeadWriter(e.agent.write)
	next, running := 0, 0
	for next < len(tasks) || running > 0 {
		if next < len(tasks) && rank(tasks[next]) > 0 && e.agent.Due() {
			e.agent.SourcesChanged()
			tasks = tasks[:next]
			continue
		}
		give, t := todo, task{}
		if next < len(tasks) {
			t = tasks[next]
		} else {
			give = nil
		}
		select {
		case give <- t:
			next++
			running++
		case o := <-done:
			running--
			if err := e.take(ctx, w, o); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return w.Flush(ctx)
}

// maxWorkers limits how many sources of one repository are evaluated concurrently.
const maxWorkers = 8

func (e *evaluation) take(ctx context.Context, w *repoagent.HeadWriter, o outcome) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	id := o.task.source.ID
	if o.again == nil && o.task.commit != "" {
		row := &o.task.old
		if o.head != nil {
			row = o.head
		}
		o.look.key, o.look.failed = row.Key, row.Error != ""
		e.agent.evaluated[id] = o.look
	} else {
		delete(e.agent.evaluated, id)
	}
	if o.head == nil {
		return nil
	}
	return w.Add(ctx, *o.head, o.artifact)
}

// head returns the row that a source should have.
func (e *evaluation) head(ctx context.Context, t task) outcome {
	a, s, old := e.agent, t.source, t.old
	o := outcome{task: t, look: look{commit: t.commit}}
	head, err := old, t.err
	head.SourceID, head.RepositoryID = s.ID, s.RepositoryID
	if err == nil {
		o.artifact, o.look, err = e.produce(ctx, s, t.commit, &head)
	}
	if errors.Is(err, errPending) {
		o.again = err
		return o
	}
	if err != nil {
		o.again = err
		if errcode.Is(err, errcode.Unprocessable) && !errors.Is(err, errElsewhere) {
			o.again = nil // the same commit gives the same answer
		} else if ctx.Err() == nil {
			a.Config.Log.Warn("source cannot be produced", logkey.Repository, s.RepositoryID, logkey.Source, s.ID, logkey.Error, err)
		}
		o.artifact, o.head = nil, a.Failed(s, old, err)
		return o
	}
	if o.artifact == nil && old.Error == "" {
		return o
	}
	a.Produced(&head)
	o.head = &head
	return o
}

// Covers implements repoagent.Remote: the last listing showed what the sources
// name. A damaged mirror is healed first.
func (a remote) Covers(ctx context.Context, sources []record.Source) bool {
	if err := a.heal(ctx); err != nil {
		a.Config.Log.Warn("mirror cannot be healed yet", logkey.Repository, a.Config.RepositoryID, logkey.Error, err)
	}
	for _, p := range inUse(sources) {
		if !a.covers(p) {
			return false
		}
	}
	return a.hasIDs(ctx, sources)
}

// hasIDs reports whether the mirror has the commits of all sources.
func (a *Agent) hasIDs(ctx context.Context, sources []record.Source) bool {
	var ids []string
	for _, s := range sources {
		if gitobject.IsID(s.Ref) && a.idTried[s.Ref].IsZero() {
			ids = append(ids, s.Ref)
		}
	}
	m, _, _ := a.copy()
	if m == nil {
		return false
	}
	missing, err := m.Missing(ctx, ids)
	return err == nil && len(missing) == 0
}

// evaluateFromMirror gives sources without content the mirror's content while
// upstream cannot be read. Sources with content keep it: the mirror may be
// older than what another owner saw.
func (a *Agent) evaluateFromMirror(ctx context.Context, sources []record.Source, cause error) error {
	if err := a.LoadHeads(ctx); err != nil {
		return err
	}
	cause = repoagent.Unavailable(cause)
	e := a.newEvaluation()
	var tasks []task
	for _, s := range sources {
		old := a.Heads[s.ID]
		if old.Digest != "" {
			continue
		}
		t := task{source: s, old: old, err: cause}
		if e.table != nil {
			if c, err := a.resolve(ctx, e.mirror, e.table, s.Ref); err == nil {
				t.commit, t.err = c, nil
			}
		}
		tasks = append(tasks, t)
	}
	return e.run(ctx, tasks)
}
