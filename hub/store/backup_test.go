package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// fill writes something of every sort that a backup must bring back.
func fill(t *testing.T, s *store.Store) {
	t.Helper()
	ctx := t.Context()
	_, err := s.CreateRepository(ctx, gitcache.Repository{ID: "repo_a", Name: "a", Kind: record.Git, URL: "https://git.test/a", Auth: record.AuthBasic,
		ManagedBy: managed.Manager{Tool: managed.Terraform, ID: "default"}},
		gitcache.Credentials{Username: "u", Password: "hunter2"})
	if err != nil {
		t.Fatal(err)
	}
	src, err := gitcache.NewSource("repo_a", "main", "apps/web", []string{"<values>.yaml", "ä"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutSource(ctx, src); err != nil {
		t.Fatal(err)
	}
	epoch, err := record.AcquireOne(ctx, s, "repo_a", gitcache.Holder{Replica: "hub-0", Boot: "one"}, 1<<40, 0)
	if err != nil {
		t.Fatal(err)
	}
	head := gitcache.Head{SourceID: src.ID, Revision: strings.Repeat("a", 40), Digest: "axle1:x", FetchSeq: 1}
	if err := s.WriteHeads(ctx, "repo_a", epoch, []gitcache.Head{head}, nil); err != nil {
		t.Fatal(err)
	}
	err = s.Write(ctx, func(ctx context.Context) error {
		for i := range 250 { // more than one statement of a restore
			if err := s.SetSetting(ctx, fmt.Sprint("setting ", i), strings.Repeat("x", i)); err != nil {
				return err
			}
		}
		return event.Record(ctx, event.Entry{Kind: "service.created", Object: "service c/web", By: "a@example.test", Message: "line one\nline \"two\""})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// contents is what must be equal before and after.
func contents(t *testing.T, s *store.Store) map[string]any {
	t.Helper()
	ctx := t.Context()
	repositories, err := s.Repositories(ctx)
	sources, serr := s.Sources(ctx, "repo_a")
	heads, herr := s.Heads(ctx, "repo_a")
	credentials, cerr := s.Credentials(ctx, "repo_a")
	entries, eerr := s.Events(ctx, store.EventFilter{})
	setting, terr := s.Setting(ctx, "setting 249")
	projects, perr := s.Projects(ctx)
	if err := errors.Join(err, serr, herr, cerr, eerr, terr, perr); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"repositories": repositories, "sources": sources, "heads": heads, "password": credentials.Password,
		"events": entries, "setting": setting, "projects": projects}
}

// sameKeyFile gives a place the key file of another.
func sameKeyFile(t *testing.T, from, to storetest.Database) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(from.Config.DataDir, "hub.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to.Config.DataDir, "hub.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBackupRestoresIntoEitherDatabase(t *testing.T) {
	t.Parallel()
	type creates map[string]func(tb testing.TB) storetest.Database
	for from, makeFrom := range (creates{"sqlite": storetest.SQLite, "postgres": storetest.Postgres}) {
		for to, makeTo := range (creates{"sqlite": storetest.EmptySQLite, "postgres": storetest.EmptyPostgres}) {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				old, fresh := makeFrom(t), makeTo(t)
				s := old.Open(t)
				fill(t, s)
				want, parent := contents(t, s), present(t, s)
				var file bytes.Buffer
				if err := store.Backup(t.Context(), old.Config, &file); err != nil {
					t.Fatal(err)
				}
				if text := unpack(t, file.Bytes()); strings.Contains(text, "hunter2") {
					t.Error("the backup has a secret in clear")
				}
				sameKeyFile(t, old, fresh)
				next, err := store.Restore(t.Context(), fresh.Config, &file)
				if err != nil {
					t.Fatal(err)
				}
				r := fresh.Open(t)
				if diff := cmp.Diff(want, contents(t, r)); diff != "" {
					t.Errorf("(-before +after):\n%s", diff)
				}
				if now := present(t, r); now.ID != next.ID || now.ID <= parent.ID || now.ParentID != parent.ID || now.ParentKeptSequence != 0 || !now.ParentKeptAt.IsZero() || now.Confirmed {
					t.Errorf("incarnation %+v, parent was %+v; a restore keeps nothing for certain", now, parent)
				}
				if epoch, err := record.AcquireOne(t.Context(), r, "repo_a", gitcache.Holder{Replica: "hub-1", Boot: "x"}, 1<<40, 0); err != nil || epoch != 2 {
					t.Errorf("epoch %d after 1, %v", epoch, err)
				}
				write(t, r, "after")
			})
		}
	}
}

func TestRestoreReplacesWhatIsThere(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s, err := store.Open(t.Context(), d.Config)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s)
		want := contents(t, s)
		var file bytes.Buffer
		if err := store.Backup(t.Context(), d.Config, &file); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), func(ctx context.Context) error { return s.SetSetting(ctx, "setting 249", "changed") }); err != nil {
			t.Fatal(err)
		}
		later, err := s.BeginIncarnation(t.Context(), present(t, s).ID, "", true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Restore(t.Context(), d.Config, bytes.NewReader(file.Bytes())); !errcode.Is(err, errcode.Conflict) {
			t.Fatalf("restored under a running hub: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		next, err := store.Restore(t.Context(), d.Config, &file)
		if err != nil {
			t.Fatal(err)
		}
		if next.ID <= later.ID {
			t.Fatalf("incarnation %s does not sort after %s, which agents may know", next.ID, later.ID)
		}
		if diff := cmp.Diff(want, contents(t, d.Open(t))); diff != "" {
			t.Fatalf("(-before +after):\n%s", diff)
		}
	})
}

func TestDamagedBackupChangesNothing(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s, err := store.Open(t.Context(), d.Config)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s)
		want, before := contents(t, s), present(t, s)
		var file bytes.Buffer
		if err := store.Backup(t.Context(), d.Config, &file); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		text := unpack(t, file.Bytes())
		lines := strings.SplitAfter(text, "\n")
		for name, bad := range map[string]string{
			"empty":          "",
			"other file":     "hello\n",
			"cut off":        text[:len(text)/2],
			"no end":         strings.Join(lines[:len(lines)-2], ""),
			"row changed":    strings.Replace(text, "service c/web", "service c/WEB", 1),
			"row left out":   strings.Replace(text, lines[5], "", 1),
			"unknown table":  strings.Replace(text, `{"table":"settings"`, `{"table":"settings; DROP TABLE events"`, 1),
			"unknown column": strings.Replace(text, `["name","value"]`, `["name","value) --"]`, 1),
			"newer schema":   strings.Replace(text, fmt.Sprintf(`"minor":%d`, store.SchemaMinor), `"minor":99`, 1),
		} {
			if bad == text {
				t.Fatalf("%s: nothing was changed", name)
			}
			if _, err := store.Restore(t.Context(), d.Config, bytes.NewReader(pack(t, bad))); !errcode.Is(err, errcode.Invalid) && !errcode.Is(err, errcode.Conflict) {
				t.Errorf("%s: %v", name, err)
			}
		}
		s = d.Open(t)
		if diff := cmp.Diff(want, contents(t, s)); diff != "" || present(t, s) != before {
			t.Fatalf("a refused backup changed something (-before +after):\n%s", diff)
		}
	})
}

func TestRestoreRefusesAnotherKeyFile(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		fill(t, d.Open(t))
		var file bytes.Buffer
		if err := store.Backup(t.Context(), d.Config, &file); err != nil {
			t.Fatal(err)
		}
		other := storetest.SQLite(t)
		s, err := store.Open(t.Context(), other.Config)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Restore(t.Context(), other.Config, &file); !errcode.Is(err, errcode.Conflict) || !strings.Contains(err.Error(), "key file") {
			t.Fatal(err)
		}
	})
}

// A backup during writes is one snapshot: pairs of settings that are always
// written together are equal in it.
func TestBackupIsOneMoment(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		ctx, stop := context.WithCancel(t.Context())
		var writing sync.WaitGroup
		writing.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_ = s.Write(ctx, func(ctx context.Context) error {
					return errors.Join(s.SetSetting(ctx, "left", fmt.Sprint(n)), announce(s, "x")(ctx), s.SetSetting(ctx, "right", fmt.Sprint(n)))
				})
			}
		})
		for range 10 {
			var file bytes.Buffer
			if err := store.Backup(t.Context(), d.Config, &file); err != nil {
				t.Fatal(err)
			}
			values := map[string]string{}
			for line := range strings.Lines(unpack(t, file.Bytes())) {
				for _, name := range []string{"left", "right"} {
					if rest, ok := strings.CutPrefix(line, `["`+name+`",`); ok {
						values[name] = rest
					}
				}
			}
			if values["left"] != values["right"] {
				t.Errorf("the backup has two moments: %v", values)
			}
		}
		stop()
		writing.Wait()
	})
}

func TestBackupOfNothingSaysSo(t *testing.T) {
	dir := t.TempDir()
	if err := store.Backup(t.Context(), store.Config{DataDir: dir}, &bytes.Buffer{}); !errcode.Is(err, errcode.NotFound) {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Fatalf("it made %v, %v", entries, err)
	}
}

func unpack(t *testing.T, packed []byte) string {
	t.Helper()
	r, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := r.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func pack(t *testing.T, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll([]byte(text), nil)
}
