package audit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/hashchain"
)

// auditTables are the tables of the audit log that an attacker with SQL access
// may write.
var auditTables = []string{"audit", "audit_head", "audit_checkpoints"}

// copyTables keeps the audit log's tables as they are, and returns what puts
// them back.
func (j *journal) copyTables() (putBack func()) {
	for _, t := range auditTables {
		j.exec("DROP TABLE IF EXISTS old_"+t, "CREATE TABLE old_"+t+" AS SELECT * FROM "+t)
	}
	return func() {
		for _, t := range auditTables {
			j.exec("DELETE FROM "+t, "INSERT INTO "+t+" SELECT * FROM old_"+t)
		}
	}
}

// anew rewrites a record and everything that follows from it: record, columns,
// hashes and the head, without the signing key.
func (j *journal) anew(from int64, edit string) {
	j.exec(edit)
	j.relink(from)
	j.exec("DELETE FROM audit_checkpoints")
}

// truncate drops the end with all that speaks of it.
func (j *journal) truncate(last int64) {
	j.exec(fmt.Sprintf("DELETE FROM audit WHERE seq > %d", last), "DELETE FROM audit_checkpoints",
		fmt.Sprintf("UPDATE audit_head SET seq = %d, hash = (SELECT hash FROM audit WHERE seq = %d)", last, last))
}

// An attacker who can write every table of the audit log, and cannot sign: the
// hub signs nothing that they changed, drops nothing for them, and anybody who
// kept a checkpoint notices it, even on a replica without its own record.
func TestAuditLogUnderAttackBySQL(t *testing.T) {
	attacks := map[string]struct {
		do func(j *journal)
		// outside means that a checkpoint from elsewhere is needed: what the
		// attacker left is consistent in itself, and no replica has its own
		// record.
		outside bool
		// old is how many rows are what they were, and may go when they are old.
		old int
	}{
		"times made old": {func(j *journal) { j.exec("UPDATE audit SET at = 1 WHERE seq <= 10") }, false, 0},
		"times made old, records too": {func(j *journal) {
			j.exec("UPDATE audit SET at = 1, record = '{\"at\":1' || substr(record, instr(record, ',')) WHERE seq <= 10")
			j.relink(1)
			j.exec("DELETE FROM audit_checkpoints")
		}, true, 0},
		"rows at the end deleted":             {func(j *journal) { j.truncate(8) }, true, 0},
		"rows at the end deleted, more after": {func(j *journal) { j.truncate(8); j.add(6) }, true, 0},
		"the newest rows deleted":             {func(j *journal) { j.exec("DELETE FROM audit WHERE seq > 11") }, false, 10},
		"rows at the start deleted":           {func(j *journal) { j.exec("DELETE FROM audit WHERE seq <= 4") }, false, 0},
		"a cut that nobody signed": {func(j *journal) {
			j.exec("INSERT INTO audit_checkpoints (seq, kind, hash, at, newest, key_id, signature) SELECT 4, 'cut', hash, 1, 1, 'sig_1', 'ab' FROM audit WHERE seq = 4", "DELETE FROM audit WHERE seq <= 4")
		}, false, 0},
		"a checkpoint turned into a cut": {func(j *journal) {
			j.exec("UPDATE audit_checkpoints SET kind = 'cut' WHERE seq = 10", "DELETE FROM audit WHERE seq <= 10")
		}, false, 0},
		"a row and all after it anew": {func(j *journal) {
			j.anew(5, "UPDATE audit SET record = replace(record, 'ann@', 'bob@'), actor = 'bob@example.com' WHERE seq = 5")
		}, true, 0},
		"everything deleted": {func(j *journal) {
			j.exec("DELETE FROM audit", "DELETE FROM audit_checkpoints", "UPDATE audit_head SET seq = 0, hash = ''")
		}, true, 0},
	}
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		for name, a := range attacks {
			t.Run(name, func(t *testing.T) {
				here := d
				if !d.IsPostgres() {
					here = storetest.SQLite(t)
				}
				j := newJournal(t, here)
				if d.IsPostgres() {
					if strings.Contains(name, "records too") {
						j.exec("CREATE OR REPLACE FUNCTION instr(text, text) RETURNS integer AS 'SELECT strpos($1, $2)' LANGUAGE SQL IMMUTABLE")
					}
					j.exec("DELETE FROM audit", "DELETE FROM audit_checkpoints", "UPDATE audit_head SET seq = 0, hash = ''")
				}
				j.add(10)
				kept, err := j.Seal(t.Context())
				if err != nil || kept.Sequence != 10 || kept.Newest == 0 {
					t.Fatalf("%+v %v", kept, err)
				}
				j.add(2)
				memory, err := os.ReadFile(j.kept)
				if err != nil {
					t.Fatal(err)
				}
				a.do(j)
				j.withstands(memory, a.old)
				j.isSeen(kept, a.outside)
			})
		}
	})
}

// withstands fails when the hub signs or drops anything, or forgets what it
// saw, while the log is not what it was: now, and when retention is over.
func (j *journal) withstands(memory []byte, old int) {
	j.t.Helper()
	for _, may := range []int{0, old} {
		before := len(j.rows(audit.Query{Limit: 1000}))
		if err := j.Prune(j.t.Context()); err != nil && !errcode.Is(err, errcode.Conflict) {
			j.t.Errorf("prune: %v", err)
		}
		if left := len(j.rows(audit.Query{Limit: 1000})); left != before-may {
			j.t.Errorf("retention left %d of %d rows, and %d may go", left, before, may)
		}
		j.clock.Advance(31 * 24 * time.Hour)
	}
	j.clock.Advance(-62 * 24 * time.Hour)
	// A change after what was seen is refused here. A verification finds an
	// earlier one.
	if c, err := j.Seal(j.t.Context()); err == nil {
		if at, _ := j.verify(j.Log); at == 0 {
			j.t.Errorf("the hub signed %+v and holds its log to be whole", c)
		}
	} else if !errcode.Is(err, errcode.Conflict) {
		j.t.Errorf("checkpoint: %v", err)
	} else if now, err := os.ReadFile(j.kept); err != nil || string(now) != string(memory) {
		j.t.Errorf("this replica forgot what it saw: %s, %v", now, err)
	}
}

// isSeen fails unless every replica with its own record notices the attack, and
// a replica without one notices it by the checkpoint that was kept elsewhere.
func (j *journal) isSeen(kept hashchain.Checkpoint, outside bool) {
	j.t.Helper()
	if at, _ := j.verify(j.Log); at == 0 {
		j.t.Error("the replica that wrote it holds the log to be whole")
	}
	file, err := audit.New(audit.Config{Chain: j.store, Checkpoints: j.store, Cursors: j.store, Signer: j.notary, Clock: j.clock, Kept: j.kept})
	if err != nil {
		j.t.Fatal(err)
	}
	if at, _ := j.verify(file); at == 0 {
		j.t.Error("a replica that began anew with its file holds the log to be whole")
	}
	fresh := j.log(audit.Config{})
	if at, _ := j.verify(fresh); at == 0 && !outside {
		j.t.Error("a replica without a memory holds the log to be whole")
	}
	v, err := fresh.Verify(j.t.Context(), hashchain.End{}, kept)
	if err != nil || v.Broken == nil {
		j.t.Errorf("with the checkpoint that was kept elsewhere: %+v %v", v, err)
	}
}

// An older copy of the database, with a signature for everything in it, is
// recognised by what came after.
func TestAuditLogOfAnOlderDatabase(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		j := newJournal(t, d)
		j.add(5)
		j.checkpoint()
		putBack := j.copyTables()
		j.add(5)
		kept, err := j.Seal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		putBack()
		// What is added from now on differs from what was lost.
		j.clock.Advance(time.Second)
		for range 2 { // shorter, then longer than it was
			if at, reason := j.verify(j.Log); at == 0 {
				t.Errorf("the replica that saw more: %s", reason)
			}
			if _, err := j.Seal(t.Context()); !errcode.Is(err, errcode.Conflict) {
				t.Errorf("the older copy is signed: %v", err)
			}
			v, err := j.log(audit.Config{}).Verify(t.Context(), hashchain.End{}, kept)
			if err != nil || v.Broken == nil {
				t.Errorf("a replica without a memory, by the checkpoint: %+v %v", v, err)
			}
			j.add(7)
		}
		// An administrator who intended it removes the record, and the log
		// continues.
		meant := j.log(audit.Config{Kept: filepath.Join(t.TempDir(), "kept")})
		if err := meant.Checkpoint(t.Context()); err != nil {
			t.Error(err)
		}
		if at, reason := j.verify(meant); at != 0 {
			t.Errorf("broken at %d: %s", at, reason)
		}
	})
}

// A cut states in its own signature how old the newest dropped record was; a
// cut that was too young is an error, whoever made it.
func TestAuditCutYoungerThanRetention(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		j := newJournal(t, d)
		j.add(10)
		old, err := j.Seal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		j.clock.Advance(8 * 24 * time.Hour)
		j.add(5)
		young, err := j.Seal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		week := j.log(audit.Config{Retention: 7 * 24 * time.Hour, Kept: filepath.Join(t.TempDir(), "kept")})
		if err := week.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rows := j.rows(audit.Query{}); len(rows) != 5 {
			t.Fatalf("%d rows are left, want 5", len(rows))
		}
		if at, reason := j.verify(week); at != 0 {
			t.Errorf("with a retention of a week: broken at %d %s", at, reason)
		}
		if at, reason := j.verify(j.Log); at != 10 || !strings.Contains(reason, "which is too early") {
			t.Errorf("with a retention of 30 days: broken at %d %s", at, reason)
		}
		for name, tc := range map[string]struct {
			kept   hashchain.Checkpoint
			broken bool
		}{"of what was dropped": {old, false}, "of what is left": {young, false}, "of a later record at the same place": {j.signed(hashchain.Checkpoint{
			Kind: hashchain.KindSeen, Sequence: old.Sequence - 1, Hash: "other", At: young.At, Newest: young.Newest,
		}), true}, "of another row at the cut": {j.signed(hashchain.Checkpoint{
			Kind: hashchain.KindSeen, Sequence: old.Sequence, Hash: "other", At: old.At, Newest: old.Newest,
		}), true}} {
			v, err := week.Verify(t.Context(), hashchain.End{}, tc.kept)
			if err != nil || (v.Broken != nil) != tc.broken {
				t.Errorf("a checkpoint %s: %+v %v", name, v.Broken, err)
			}
		}
		stranger := old
		stranger.KeyID, stranger.Signature, _ = newNotary("sig_9").SignCheckpoint(t.Context(), stranger.Payload())
		if v, err := week.Verify(t.Context(), hashchain.End{}, stranger); err != nil || v.Broken == nil {
			t.Errorf("a checkpoint of a stranger: %+v %v", v, err)
		}
	})
}

func (j *journal) signed(c hashchain.Checkpoint) hashchain.Checkpoint {
	c.KeyID, c.Signature, _ = j.SignCheckpoint(j.t.Context(), c.Payload())
	return c
}

// Retention and checkpoints of several replicas get along: what one has cut
// meanwhile is no break for another.
func TestAuditReplicasPruneTogether(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		j := newJournal(t, d)
		for range 4 {
			j.add(30)
			j.checkpoint()
			j.clock.Advance(time.Minute)
		}
		j.clock.Advance(31 * 24 * time.Hour)
		done := make(chan error, 6)
		for range 3 {
			l := j.log(audit.Config{})
			go func() { done <- l.Prune(t.Context()) }()
			go func() { done <- l.Checkpoint(t.Context()) }()
		}
		for range 6 {
			if err := <-done; err != nil && !errcode.Is(err, errcode.Unavailable) {
				t.Error(err)
			}
		}
		if err := j.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rows := j.rows(audit.Query{}); len(rows) != 0 {
			t.Errorf("%d rows are left", len(rows))
		}
		j.add(1)
		if at, reason := j.verify(j.Log); at != 0 {
			t.Errorf("broken at %d: %s", at, reason)
		}
	})
}

// A kept checkpoint is read from what the command line wrote, from an export and
// from a replica's own file.
func TestAuditCheckpointFiles(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		j := newJournal(t, d)
		j.add(3)
		want, err := j.Seal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(j.kept)
		if err != nil {
			t.Fatal(err)
		}
		for name, file := range map[string]string{
			"the replica's": string(text), "two lines": string(text) + "\n" + string(text), "an export": `{"seq":1,"prev":"","hash":"x","record":{}}` + "\n" + `{"checkpoint":` + strings.TrimSpace(string(text)) + "}\n",
		} {
			got, _, err := hashchain.ReadCheckpoints(strings.NewReader(file))
			if err != nil || len(got) == 0 || got[0].End() != want.End() || got[0].Newest != want.Newest {
				t.Errorf("%s: %+v %v", name, got, err)
			}
		}
		for name, file := range map[string]string{"no JSON": "x", "no checkpoint": "{}", "a cut": strings.Replace(string(text), "seen", "cut", 1)} {
			if _, _, err := hashchain.ReadCheckpoints(strings.NewReader(file)); err == nil || errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
