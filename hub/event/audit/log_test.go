package audit_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/hashchain"
)

// notary signs checkpoints by one key.
type notary struct {
	id      string
	private ed25519.PrivateKey
}

func newNotary(id string) *notary {
	_, private, _ := ed25519.GenerateKey(rand.Reader)
	return &notary{id, private}
}

func (n *notary) SignCheckpoint(_ context.Context, payload []byte) (string, []byte, error) {
	return n.id, ed25519.Sign(n.private, payload), nil
}

func (n *notary) CheckpointKeys(context.Context) (map[string]ed25519.PublicKey, error) {
	return map[string]ed25519.PublicKey{n.id: n.private.Public().(ed25519.PublicKey)}, nil
}

// journal is an audit log on a real database.
type journal struct {
	*audit.Log
	*notary
	store *storetest.Store
	clock *clock.Manual
	db    *sql.DB
	t     *testing.T
	kept  string // the log's file
}

func newJournal(t *testing.T, d storetest.Database) *journal {
	t.Helper()
	j := &journal{notary: newNotary("sig_1"), store: d.Open(t), clock: clock.NewManual(time.Now()), db: d.SQL(t), t: t}
	j.kept = filepath.Join(t.TempDir(), "kept")
	j.Log = j.log(audit.Config{Kept: j.kept})
	return j
}

// log returns a further log of the same chain, as another replica has it.
func (j *journal) log(c audit.Config) *audit.Log {
	j.t.Helper()
	c.Chain, c.Checkpoints, c.Cursors, c.Signer, c.Clock = j.store, j.store, j.store, j.notary, j.clock
	l, err := audit.New(c)
	if err != nil {
		j.t.Fatal(err)
	}
	j.t.Cleanup(func() { l.Close() })
	return l
}

func (j *journal) add(n int) {
	j.t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			err := j.AddNow(j.t.Context(), audit.Record{Actor: "ann@example.com", Action: "/axle.hub.v1.Services/Update", Kind: "service", Name: fmt.Sprint("edge/web-", i), Result: "ok", After: `{"git":{"ref":"<main>"}}`})
			if err != nil {
				j.t.Error(err)
			}
		})
	}
	all.Wait()
}

func (j *journal) checkpoint() {
	j.t.Helper()
	if err := j.Checkpoint(j.t.Context()); err != nil {
		j.t.Fatal(err)
	}
}

// verify checks the whole chain and returns where it is broken, 0 for nowhere.
func (j *journal) verify(l *audit.Log) (int64, string) {
	j.t.Helper()
	v, err := l.Verify(j.t.Context(), hashchain.End{})
	if err != nil {
		j.t.Fatal(err)
	}
	if v.Broken != nil {
		return v.Broken.Sequence, v.Broken.Reason
	}
	if !v.Done {
		j.t.Fatal("not all was verified")
	}
	return 0, ""
}

func (j *journal) rows(q audit.Query) []audit.Row {
	j.t.Helper()
	rows, err := j.store.AuditRows(j.t.Context(), q)
	if err != nil {
		j.t.Fatal(err)
	}
	return rows
}

func (j *journal) exec(statements ...string) {
	j.t.Helper()
	for _, s := range statements {
		if _, err := j.db.ExecContext(j.t.Context(), s); err != nil {
			j.t.Fatal(s, err)
		}
	}
}

// relink rewrites a chain from a row on, like an attacker who knows the format.
func (j *journal) relink(from int64) {
	j.t.Helper()
	var end hashchain.End
	if from > 1 {
		end = j.rows(audit.Query{After: from - 2, Limit: 1})[0].End()
	}
	for _, r := range j.rows(audit.Query{After: from - 1, Limit: 1000}) {
		line := hashchain.Next(end, r.Record)
		j.exec(fmt.Sprintf("UPDATE audit SET prev = '%s', hash = '%s' WHERE seq = %d", line.Previous, line.Hash, r.Sequence))
		end = line.End()
	}
	j.exec(fmt.Sprintf("UPDATE audit_head SET seq = %d, hash = '%s'", end.Sequence, end.Hash))
}

func TestAuditChainDetectsEdit(t *testing.T) {
	const columns = "at, actor, cluster_id, action, kind, name, result, record, prev, hash"
	edit := "UPDATE audit SET record = replace(record, 'ann@', 'bob@') WHERE seq = 5"
	edits := map[string]struct {
		do   func(j *journal)
		want int64
	}{
		"nothing":  {func(*journal) {}, 0},
		"a record": {func(j *journal) { j.exec(edit) }, 5},
		"a record, relinked": {func(j *journal) {
			j.exec(edit, "UPDATE audit SET actor = 'bob@example.com' WHERE seq = 5")
			j.relink(5)
		}, 10},
		"a column alone": {func(j *journal) { j.exec("UPDATE audit SET actor = 'bob@example.com' WHERE seq = 5") }, 5},
		"a hash":         {func(j *journal) { j.exec("UPDATE audit SET hash = prev WHERE seq = 5") }, 5},
		"deleted":        {func(j *journal) { j.exec("DELETE FROM audit WHERE seq = 5") }, 5},
		"deleted, closed up": {func(j *journal) {
			j.exec("DELETE FROM audit WHERE seq = 5")
			for n := 6; n <= 12; n++ {
				j.exec(fmt.Sprintf("UPDATE audit SET seq = %d WHERE seq = %d", n-1, n))
			}
		}, 5},
		"deleted, relinked": {func(j *journal) {
			j.exec("DELETE FROM audit WHERE seq = 5")
			for n := 6; n <= 12; n++ {
				j.exec(fmt.Sprintf("UPDATE audit SET seq = %d WHERE seq = %d", n-1, n))
			}
			j.relink(5)
		}, 10},
		"inserted": {func(j *journal) {
			for n := 12; n >= 5; n-- {
				j.exec(fmt.Sprintf("UPDATE audit SET seq = %d WHERE seq = %d", n+1, n))
			}
			j.exec("INSERT INTO audit (seq, " + columns + ") SELECT 5, " + columns + " FROM audit WHERE seq = 4")
		}, 5},
		"appended": {func(j *journal) {
			j.exec("INSERT INTO audit (seq, " + columns + ") SELECT 13, " + columns + " FROM audit WHERE seq = 12")
		}, 13},
		"reordered": {func(j *journal) {
			j.exec("UPDATE audit SET seq = 100 WHERE seq = 5", "UPDATE audit SET seq = 5 WHERE seq = 6", "UPDATE audit SET seq = 6 WHERE seq = 100")
		}, 5},
		"the beginning cut off": {func(j *journal) { j.exec("DELETE FROM audit WHERE seq <= 4") }, 1},
		"a cut that is no cut": {func(j *journal) {
			j.exec("DELETE FROM audit WHERE seq <= 10", "UPDATE audit_checkpoints SET kind = 'cut' WHERE seq = 10")
		}, 10},
		"a cut by a key that nobody knows": {func(j *journal) {
			// Everything is signed correctly, but by somebody else.
			cut := hashchain.Checkpoint{Kind: hashchain.KindCut, Sequence: 4, Hash: j.rows(audit.Query{After: 3, Limit: 1})[0].Hash}
			cut.KeyID, cut.Signature, _ = newNotary("sig_2").SignCheckpoint(j.t.Context(), cut.Payload())
			if err := j.store.PutAuditCheckpoint(j.t.Context(), cut); err != nil {
				j.t.Fatal(err)
			}
			j.exec("DELETE FROM audit WHERE seq <= 4")
		}, 4},
		"the last record, relinked but for the head": {func(j *journal) {
			j.exec("UPDATE audit SET record = replace(record, 'ann@', 'bob@'), actor = 'bob@example.com' WHERE seq = 12")
			end := j.rows(audit.Query{After: 10, Limit: 1})[0].End()
			line := hashchain.Next(end, j.rows(audit.Query{After: 11, Limit: 1})[0].Record)
			j.exec("UPDATE audit SET hash = '" + line.Hash + "' WHERE seq = 12")
		}, 12},
		"the end cut off": {func(j *journal) { j.exec("DELETE FROM audit WHERE seq >= 11") }, 11},
		"the end cut off with the head": {func(j *journal) {
			j.exec("DELETE FROM audit WHERE seq >= 9", "UPDATE audit_head SET seq = 8, hash = (SELECT hash FROM audit WHERE seq = 8)")
		}, 9},
		"the end cut off with all that speaks of it": {func(j *journal) {
			j.exec("DELETE FROM audit WHERE seq >= 9", "UPDATE audit_head SET seq = 8, hash = (SELECT hash FROM audit WHERE seq = 8)", "DELETE FROM audit_checkpoints")
		}, 9},
		"the end cut off, then others came": {func(j *journal) {
			j.exec("DELETE FROM audit WHERE seq >= 9", "UPDATE audit_head SET seq = 8, hash = (SELECT hash FROM audit WHERE seq = 8)", "DELETE FROM audit_checkpoints")
			j.add(5)
		}, 10},
		"a checkpoint": {func(j *journal) { j.exec("UPDATE audit_checkpoints SET signature = 'ab' WHERE seq = 10") }, 10},
	}
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		for name, e := range edits {
			t.Run(name, func(t *testing.T) {
				here := d
				if !d.IsPostgres() {
					here = storetest.SQLite(t)
				}
				j := newJournal(t, here)
				if d.IsPostgres() {
					j.exec("DELETE FROM audit", "DELETE FROM audit_checkpoints", "UPDATE audit_head SET seq = 0, hash = ''")
				}
				j.add(10)
				j.checkpoint()
				j.add(2)
				e.do(j)
				if at, reason := j.verify(j.Log); at != e.want {
					t.Errorf("broken at %d (%s), want %d", at, reason, e.want)
				}
			})
		}
	})
}

// A key that somebody put into the database makes no valid signatures, and a
// chain that was rewritten completely is recognised by what the replica saw.
func TestAuditChainIsNotWrittenAnewWithAnotherKey(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		j := newJournal(t, d)
		j.add(3)
		j.checkpoint()
		other := newNotary(j.id)
		j.exec("UPDATE audit SET record = replace(record, 'ann@', 'bob@'), actor = 'bob@example.com' WHERE seq = 1", "DELETE FROM audit_checkpoints")
		j.relink(1)
		end, err := j.store.AuditEnd(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := hashchain.Checkpoint{Kind: hashchain.KindSeen, Sequence: end.Sequence, Hash: end.Hash, KeyID: other.id}
		_, c.Signature, _ = other.SignCheckpoint(t.Context(), c.Payload())
		if err := j.store.PutAuditCheckpoint(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if at, _ := j.verify(j.Log); at != 3 {
			t.Errorf("broken at %d, want 3", at)
		}
		// A replica without its own record recognises it by the key.
		if at, _ := j.verify(j.log(audit.Config{})); at != 3 {
			t.Errorf("without a memory: broken at %d, want 3", at)
		}
	})
}

// Replicas write one chain: nothing is lost, doubled or out of order.
func TestAuditReplicasWriteOneChain(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		j := newJournal(t, d)
		logs := []*audit.Log{j.Log, j.log(audit.Config{}), j.log(audit.Config{})}
		const each = 200
		var all sync.WaitGroup
		for n, l := range logs {
			for i := range each {
				all.Go(func() {
					r := audit.Record{Actor: fmt.Sprint("replica-", n), Action: "a", Name: fmt.Sprint(i), Result: "ok"}
					if i%2 == 0 {
						l.Add(t.Context(), r)
					} else if err := l.AddNow(t.Context(), r); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		for _, l := range logs {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if at, reason := j.verify(j.Log); at != 0 {
			t.Fatalf("broken at %d: %s", at, reason)
		}
		seen := map[string]int{}
		for _, r := range j.rows(audit.Query{Limit: 1000}) {
			seen[r.Columns.Actor+" "+r.Columns.Name]++
		}
		if len(seen) != each*len(logs) {
			t.Errorf("%d records, want %d", len(seen), each*len(logs))
		}
		if err := j.AddNow(t.Context(), audit.Record{Action: "a"}); !errcode.Is(err, errcode.Unavailable) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestAuditRetentionKeepsTheChainVerifiable(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		j := newJournal(t, d)
		j.add(20)
		j.checkpoint()
		j.clock.Advance(20 * 24 * time.Hour)
		j.add(5)
		j.clock.Advance(11 * 24 * time.Hour)
		for range 2 { // the second has nothing to do
			if err := j.Prune(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		rows := j.rows(audit.Query{})
		if len(rows) != 5 || rows[0].Sequence != 21 {
			t.Fatalf("%d rows are left, want 5 from 21 on", len(rows))
		}
		if at, reason := j.verify(j.Log); at != 0 {
			t.Fatalf("broken at %d: %s", at, reason)
		}
		j.exec("UPDATE audit_checkpoints SET seq = 21, hash = '" + rows[0].Hash + "'")
		j.exec("DELETE FROM audit WHERE seq = 21")
		if at, _ := j.verify(j.Log); at != 21 {
			t.Errorf("a forged cut: broken at %d, want 21", at)
		}
	})
}

// When everything is old, the chain continues where it was.
func TestAuditRetentionOfEverything(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		j := newJournal(t, d)
		j.add(20)
		j.checkpoint()
		j.clock.Advance(time.Minute)
		j.add(5)
		j.checkpoint()
		j.clock.Advance(40 * 24 * time.Hour)
		if err := j.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		j.add(1)
		if rows := j.rows(audit.Query{}); len(rows) != 1 || rows[0].Sequence != 26 {
			t.Errorf("%d rows, want number 26 alone", len(rows))
		}
		j.checkpoint()
		if at, reason := j.verify(j.Log); at != 0 {
			t.Errorf("broken at %d: %s", at, reason)
		}
		// A replica that was down meanwhile continues after the cut.
		if err := j.log(audit.Config{}).Checkpoint(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// absent is a store whose database does not answer.
type absent struct {
	audit.Chain
	away chan struct{}
}

func (a absent) AppendAudit(ctx context.Context, extend func(hashchain.End) ([]audit.Row, error)) error {
	select {
	case <-a.away:
		return a.Chain.AppendAudit(ctx, extend)
	default:
		return errors.New("no route to host")
	}
}

// While the database is unavailable, AddNow returns an error and Add waits;
// records that do not fit are counted and reported.
func TestAuditOutageIsSaid(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		j := newJournal(t, d)
		store := absent{j.store, make(chan struct{})}
		l, err := audit.New(audit.Config{Chain: store, Checkpoints: j.store, Cursors: j.store, Signer: j.notary, Clock: j.clock})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.AddNow(t.Context(), audit.Record{Action: "exec"}); !errcode.Is(err, errcode.Unavailable) {
			t.Fatalf("AddNow without a database: %v", err)
		}
		const more = 5000 // than the 4,096 that wait
		for range more {
			l.Add(t.Context(), audit.Record{Action: "get"})
		}
		close(store.away)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		gaps, found := j.rows(audit.Query{Action: audit.ActionGap, Limit: 1000}), 0
		lost := 0
		for _, row := range gaps {
			r, err := row.Open()
			if err != nil {
				t.Fatal(err)
			}
			var n int
			fmt.Sscan(r.Detail["lost"], &n)
			lost += n
		}
		for after := int64(0); ; {
			rows := j.rows(audit.Query{After: after, Action: "get", Limit: 1000})
			if len(rows) == 0 {
				break
			}
			found += len(rows)
			after = rows[len(rows)-1].Sequence
		}
		if found+lost != more || lost == 0 {
			t.Errorf("%d records and %d said to be lost; want %d together, some lost", found, lost, more)
		}
	})
}

func TestAuditRowsAreFound(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		j := newJournal(t, d)
		for i, r := range []audit.Record{
			{At: 10, Actor: "ann", Action: "create", Kind: "service", Name: "edge-1/web", ClusterID: "c1", Result: "ok"},
			{At: 20, Actor: "bob", Action: "create", Kind: "cluster", Name: "edge-1", ClusterID: "c1", Result: "forbidden"},
			{At: 30, Actor: "ann", Action: "delete", Kind: "service", Name: "edge-2/web", ClusterID: "c2", Result: "ok", Detail: map[string]string{"n\x00ul": "\xff"}},
		} {
			if err := j.AddNow(t.Context(), r); err != nil {
				t.Fatal(i, err)
			}
		}
		for name, q := range map[string]struct {
			query audit.Query
			want  string
		}{
			"all":         {audit.Query{}, "[1 2 3]"},
			"newest":      {audit.Query{Newest: true, Limit: 2}, "[3 2]"},
			"since":       {audit.Query{Since: 20}, "[2 3]"},
			"until":       {audit.Query{Until: 20}, "[1]"},
			"actor":       {audit.Query{Actor: "ann"}, "[1 3]"},
			"cluster":     {audit.Query{ClusterID: "c1"}, "[1 2]"},
			"action":      {audit.Query{Action: "delete"}, "[3]"},
			"result":      {audit.Query{Result: "forbidden"}, "[2]"},
			"kind":        {audit.Query{Object: "service"}, "[1 3]"},
			"name":        {audit.Query{Object: "edge-1"}, "[2]"},
			"kind/name":   {audit.Query{Object: "service/edge-1/web"}, "[1]"},
			"before":      {audit.Query{Before: 3, Newest: true}, "[2 1]"},
			"all at once": {audit.Query{After: 1, Actor: "ann", Object: "service"}, "[3]"},
		} {
			t.Run(name, func(t *testing.T) {
				var got []int64
				for _, row := range j.rows(q.query) {
					got = append(got, row.Sequence)
				}
				if fmt.Sprint(got) != q.want {
					t.Errorf("got %v, want %s", got, q.want)
				}
			})
		}
		if at, reason := j.verify(j.Log); at != 0 {
			t.Errorf("broken at %d: %s", at, reason)
		}
	})
}
