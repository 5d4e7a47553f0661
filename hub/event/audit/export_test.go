package audit_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/hashchain"
)

// export runs the export of a log until the test ends or the returned function
// is called.
func (j *journal) export(l *audit.Log) (stop func()) {
	ctx, cancel := context.WithCancel(j.t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Export(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				j.t.Error(err)
			}
		})
	}
	j.t.Cleanup(stop)
	return stop
}

func (j *journal) keys() map[string]ed25519.PublicKey {
	keys, _ := j.CheckpointKeys(j.t.Context())
	return keys
}

// Whoever rotates the file, by moving it away at any time, loses no line and finds none torn, and a
// new file begins where it was.
func TestRotationLosesNoLine(t *testing.T) {
	dir := t.TempDir()
	sink := &audit.FileSink{Path: filepath.Join(dir, "audit.jsonl")}
	const batches, moves = 200, 50
	wrote := make(chan error, 1)
	go func() {
		for i := range batches {
			if err := sink.Send(t.Context(), fmt.Appendf(nil, "{\"n\":%d}\n{\"n\":%d}\n", 2*i, 2*i+1)); err != nil {
				wrote <- err
				return
			}
		}
		wrote <- nil
	}()
	for moved := 0; moved < moves; {
		err := os.Rename(sink.Path, filepath.Join(dir, fmt.Sprintf("audit.jsonl.%d", moved)))
		if err == nil {
			moved++
			continue
		}
		select { // until there is a file again, or no more will be
		case err := <-wrote:
			if err != nil {
				t.Fatal(err)
			}
			wrote <- nil
			moved = moves
		default:
		}
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "audit.jsonl*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	lines := map[string]int{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			lines[line]++
		}
	}
	for i := range 2 * batches {
		if n := lines[fmt.Sprintf("{\"n\":%d}\n", i)]; n != 1 {
			t.Errorf("line %d is there %d times", i, n)
		}
	}
}

// A file gets every row in order, across restarts and a torn line, and can be
// verified by itself; a change of it is noticed.
func TestAuditExportToAFile(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		j := newJournal(t, d)
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		sink := func() *audit.Log { return j.log(audit.Config{Sink: &audit.FileSink{Path: path}, SinkName: "file"}) }
		holds := func(lines int) string {
			t.Helper()
			var text []byte
			eventually.For(t, time.Minute, fmt.Sprintf("%d records are exported", lines), func() error {
				var err error
				if text, err = os.ReadFile(path); err != nil {
					return err
				}
				result, err := hashchain.Verify(strings.NewReader(string(text)), j.keys())
				if err != nil || result.Lines != lines || len(result.Gaps) > 0 {
					return fmt.Errorf("%v: %w", result, err)
				}
				return nil
			})
			return string(text)
		}
		j.add(10)
		j.checkpoint()
		stop := j.export(sink())
		holds(10)
		stop()
		// A crash in the middle of a line, and before the place was noted.
		whole := holds(10)
		if err := os.WriteFile(path, []byte(whole+`{"seq": 11, "pre`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := j.store.PutAuditCursor(t.Context(), "file", 8); err != nil {
			t.Fatal(err)
		}
		j.add(3)
		stop = j.export(sink())
		text := holds(13)
		stop()
		if !strings.Contains(text, `"checkpoint"`) {
			t.Error("the checkpoint was not exported")
		}
		for name, edited := range map[string]string{
			"a record":     strings.Replace(text, "ann@example.com", "bob@example.com", 1),
			"a line less":  strings.Replace(text, text[:strings.Index(text, "\n")+1], "", 1) + text[:strings.Index(text, "\n")+1],
			"a checkpoint": strings.Replace(text, `"kind":"seen"`, `"kind":"cut"`, 1),
			"no JSON":      "x" + text,
		} {
			if edited == text {
				t.Fatalf("%s: nothing was edited", name)
			}
			if result, err := hashchain.Verify(strings.NewReader(edited), j.keys()); err == nil {
				t.Errorf("%s: not seen: %v", name, result)
			}
		}
		// Rows that retention dropped first are reported.
		j.checkpoint()
		j.clock.Advance(40 * 24 * time.Hour)
		j.add(2)
		if err := j.store.PutAuditCursor(t.Context(), "file", 5); err != nil {
			t.Fatal(err)
		}
		if err := j.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		j.export(sink())
		eventually.For(t, time.Minute, "the gap is said", func() error {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			result, err := hashchain.Verify(strings.NewReader(string(text)), j.keys())
			if err != nil || len(result.Gaps) != 1 || result.Gaps[0].From != 6 || result.Gaps[0].To != 13 || result.Lines != 2 {
				return fmt.Errorf("%+v: %w", result, err)
			}
			return nil
		})
	})
}

// A full disk is reported, loses no record and leaves no half line; once there
// is space, the export continues where it stopped.
func TestAuditExportOnAFullDisk(t *testing.T) {
	j := newJournal(t, storetest.SQLite(t))
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Fatalf("a small disk needs the right to mount tmpfs, run the tests as root: %v", err)
	}
	path, filler := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "filler")
	var said lockedText
	stop := j.export(j.log(audit.Config{Sink: &audit.FileSink{Path: path}, SinkName: "file", Log: slog.New(slog.NewTextHandler(&said, nil))}))
	t.Cleanup(func() {
		stop()
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	holds := func(lines int) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		result, err := hashchain.Verify(bytes.NewReader(text), j.keys())
		if err != nil || result.Lines != lines || bytes.Count(text, []byte("\n")) != lines || !bytes.HasSuffix(text, []byte("\n")) {
			return fmt.Errorf("%v in %d bytes: %w", result, len(text), err)
		}
		return nil
	}
	j.add(3)
	eventually.For(t, time.Minute, "three records are exported", func() error { return holds(3) })
	// One page is left, so that a part of the next write succeeds.
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	info, err := os.Stat(filler)
	if err == nil {
		err = os.Truncate(filler, info.Size()-4096)
	}
	if err != nil {
		t.Fatal(err)
	}
	j.add(40)
	eventually.For(t, time.Minute, "the hub's log says why nothing is exported, and that it tries again", func() error {
		if text := said.String(); !strings.Contains(text, "no space left on device") || !strings.Contains(text, "not exported; trying again") || !strings.Contains(text, path) {
			return fmt.Errorf("it says %q", text)
		}
		return nil
	})
	// The next try may be running, which also removes what it wrote.
	eventually.For(t, time.Minute, "the file on the full disk holds what it held", func() error { return holds(3) })
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, time.Minute, "every record is exported, once", func() error { return holds(43) })
}

// lockedText is a log that may be read while it is written.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A sink that fails gets everything later.
func TestAuditExportToAURL(t *testing.T) {
	j := newJournal(t, storetest.SQLite(t))
	var mu sync.Mutex
	var got strings.Builder
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.Header.Get("Authorization") != "Bearer s3cret" || r.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%v", r.Header)
		}
		if _, err := io.Copy(&got, r.Body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j.add(5)
	j.export(j.log(audit.Config{Sink: &audit.HTTPSink{URL: server.URL, TokenFile: token, Client: server.Client()}, SinkName: server.URL}))
	eventually.For(t, time.Minute, "all records are at the sink", func() error {
		mu.Lock()
		defer mu.Unlock()
		result, err := hashchain.Verify(strings.NewReader(got.String()), nil)
		if err != nil || result.Lines != 5 {
			return fmt.Errorf("%v: %w", result, err)
		}
		return nil
	})
}
