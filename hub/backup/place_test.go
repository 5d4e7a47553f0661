package backup_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/backup"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bucketserver"
)

// at returns a bucket and how it is reached.
func at(t *testing.T) (*bucketserver.Server, backup.Access) {
	t.Helper()
	s := bucketserver.Start(t)
	return s, backup.Access{Endpoint: s.URL, Region: bucketserver.Region, CredentialsFile: bucketserver.CredentialsFile(t, "")}
}

func open(t *testing.T, place string, a backup.Access) backup.Place {
	t.Helper()
	p, err := backup.Open(t.Context(), place, a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// onBoth runs a test at a folder and at a prefix of a bucket.
func onBoth(t *testing.T, run func(t *testing.T, p backup.Place)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) { run(t, open(t, t.TempDir(), backup.Access{})) })
	t.Run("bucket", func(t *testing.T) {
		_, access := at(t)
		run(t, open(t, "s3://"+bucketserver.Bucket+"/axle/prod", access))
	})
}

func put(t *testing.T, p backup.Place, name string, content []byte) {
	t.Helper()
	size, err := p.Put(t.Context(), name, func(w io.Writer) error {
		for part := content; len(part) > 0; { // in writes of odd sizes
			n := min(len(part), 999_983)
			if _, err := w.Write(part[:n]); err != nil {
				return err
			}
			part = part[n:]
		}
		return nil
	})
	if err != nil || size != int64(len(content)) {
		t.Fatalf("%d bytes of %d, %v", size, len(content), err)
	}
}

func read(t *testing.T, p backup.Place, name string) []byte {
	t.Helper()
	r, err := p.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return content
}

const (
	first  = "axle-aaaaaaaa-20260101T021700Z.backup"
	second = "axle-aaaaaaaa-20260102T021700Z.backup"
)

func TestWhatIsPutComesBack(t *testing.T) {
	onBoth(t, func(t *testing.T, p backup.Place) {
		large := bytes.Repeat([]byte("0123456789abcdef"), 2_200_000) // three parts
		put(t, p, first, large)
		put(t, p, second, []byte("small"))
		put(t, p, "by-hand.backup", []byte("x"))
		if !bytes.Equal(read(t, p, first), large) || string(read(t, p, second)) != "small" || len(read(t, p, "by-hand.backup")) != 1 {
			t.Error("another content came back")
		}
		files, err := p.List(t.Context())
		if err != nil || len(files) != 2 || files[0].Name != second || files[1].Bytes != int64(len(large)) {
			t.Fatalf("listed %v, %v", files, err)
		}
		if want := time.Date(2026, 1, 2, 2, 17, 0, 0, time.UTC); !files[0].At.Equal(want) || files[0].Series != "aaaaaaaa" {
			t.Errorf("the newest is %+v", files[0])
		}
		if newest, err := backup.Newest(t.Context(), p); err != nil || newest.Name != second {
			t.Errorf("the newest is %v, %v", newest, err)
		}
		for range 2 { // the second time it is gone
			if err := p.Remove(t.Context(), second); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.Open(t.Context(), second); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("a removed backup: %v", err)
		}
		put(t, p, "axle-bbbbbbbb-20260101T021700Z.backup", []byte("x"))
		if _, err := backup.Newest(t.Context(), p); !errcode.Is(err, errcode.Conflict) || !strings.Contains(err.Error(), "axle-bbbbbbbb-") {
			t.Errorf("of two databases: %v", err)
		}
	})
}

// Two replicas that make a backup of one name leave it whole, as one of them wrote it.
func TestBackupsAtOnceAreWhole(t *testing.T) {
	onBoth(t, func(t *testing.T, p backup.Place) {
		put(t, p, first, bytes.Repeat([]byte("a"), 3_000_000))
		var both sync.WaitGroup
		for _, of := range []string{"a", "b"} {
			both.Go(func() {
				for range 5 {
					if _, err := p.Put(t.Context(), first, func(w io.Writer) error {
						_, err := io.Copy(w, strings.NewReader(strings.Repeat(of, 3_000_000)))
						return err
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		eventually.During(both.Wait, func() {
			text := read(t, p, first)
			if a, b := bytes.Count(text, []byte("a")), bytes.Count(text, []byte("b")); a+b != 3_000_000 || a*b != 0 {
				t.Fatalf("%d and %d", a, b)
			}
		})
		if files, err := p.List(t.Context()); err != nil || len(files) != 1 {
			t.Errorf("%v, %v", files, err)
		}
	})
}

// What fails leaves no name, no part of a file and no open upload, and keeps what had
// the name.
func TestHalfABackupIsNone(t *testing.T) {
	broken := errors.New("the database is gone")
	onBoth(t, func(t *testing.T, p backup.Place) {
		put(t, p, first, []byte("old"))
		for name, end := range map[string]func(cancel context.CancelFunc) error{
			"the database fails": func(context.CancelFunc) error { return broken },
			"the hub stops":      func(cancel context.CancelFunc) error { cancel(); return context.Canceled },
		} {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				_, err := p.Put(ctx, first, func(w io.Writer) error {
					if _, err := w.Write(make([]byte, 17<<20)); err != nil {
						return err
					}
					return end(cancel)
				})
				if err == nil {
					t.Fatal("half a backup is one")
				}
				if got := string(read(t, p, first)); got != "old" {
					t.Errorf("the old backup has %d bytes", len(got))
				}
			})
		}
	})
}

func TestAFailedUploadIsAborted(t *testing.T) {
	s, access := at(t)
	p := open(t, "s3://"+bucketserver.Bucket, access)
	s.Break(func(r *http.Request) int {
		if r.URL.Query().Get("partNumber") == "2" {
			return http.StatusBadRequest
		}
		return 0
	})
	_, err := p.Put(t.Context(), first, func(w io.Writer) error {
		_, err := w.Write(make([]byte, 40<<20))
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "part 2") {
		t.Fatalf("a refused part: %v", err)
	}
	aborted := 0
	for _, c := range s.Calls() {
		if strings.HasPrefix(c, "DELETE /backups/"+first) {
			aborted++
		}
	}
	if files, err := p.List(t.Context()); aborted != 1 || len(files) != 0 || err != nil {
		t.Errorf("%d aborts, %v, %v: %v", aborted, files, err, s.Calls())
	}
}

// A store that leads elsewhere gets an error: nobody else sees a request that is signed
// with the bucket's keys, or the database.
func TestNoBackupFollowsARedirect(t *testing.T) {
	calls := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { calls <- r.Method + " " + r.URL.Path }))
	defer other.Close()
	store := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer store.Close()
	p := open(t, "s3://"+bucketserver.Bucket, backup.Access{Endpoint: store.URL, CredentialsFile: bucketserver.CredentialsFile(t, "")})
	if _, err := p.List(t.Context()); err == nil || !strings.Contains(err.Error(), "redirects to another host") {
		t.Errorf("listed: %v", err)
	}
	if _, err := p.Open(t.Context(), first); err == nil {
		t.Error("opened")
	}
	if n := len(calls); n > 0 {
		t.Errorf("the other host got %d requests, first %s", n, <-calls)
	}
}

// A kill leaves an unfinished file, which a later backup removes, and leaves one alone
// that somebody still writes.
func TestWhatAKillLeft(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{".unfinished-old": 2 * time.Hour, ".unfinished-new": 0, "notes": 48 * time.Hour} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, open(t, dir, backup.Access{}), first, []byte("x"))
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := ".unfinished-new " + first + " notes"; err != nil || strings.Join(left, " ") != want {
		t.Errorf("left %v, %v; want %s", left, err, want)
	}
}

// Each failure says what to do, and none says the secret.
func TestFailuresOfABucket(t *testing.T) {
	s, access := at(t)
	for name, tc := range map[string]struct {
		place  string
		secret string
		code   errcode.Code
		says   string
	}{
		"no bucket":     {"s3://other/axle", "", errcode.NotFound, "create it, or name another"},
		"another key":   {"s3://" + bucketserver.Bucket, "hunter2-of-another", errcode.Forbidden, "look at its keys"},
		"no such place": {"s3://" + bucketserver.Bucket + "/empty", "", errcode.NotFound, "name the file"},
	} {
		t.Run(name, func(t *testing.T) {
			access := access
			access.CredentialsFile = bucketserver.CredentialsFile(t, tc.secret)
			_, err := backup.Newest(t.Context(), open(t, tc.place, access))
			if !errcode.Is(err, tc.code) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v does not say %q", err, tc.says)
			}
			if text := err.Error(); strings.Contains(text, bucketserver.Secret()) || strings.Contains(text, "hunter2") {
				t.Errorf("the error holds a secret: %s", text)
			}
		})
	}
	bad := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(bad, []byte("hunter2-without-a-profile"), 0o600); err != nil {
		t.Fatal(err)
	}
	access.CredentialsFile = bad
	if _, err := backup.Open(t.Context(), "s3://"+bucketserver.Bucket, access); !errcode.Is(err, errcode.Invalid) || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "[default]") {
		t.Errorf("a bad file: %v", err)
	}
	if n := len(s.Calls()); n != 3 {
		t.Errorf("%d calls: a refusal is not tried again", n)
	}
}

func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	for target, want := range map[string][2]string{
		"s3://b/p/x.backup":   {"s3://b/p", "x.backup"},
		"s3://b/x":            {"s3://b", "x"},
		"s3://b":              {"s3://b", ""},
		"s3://b/p/":           {"s3://b/p/", ""},
		dir:                   {dir, ""},
		dir + "/x":            {dir, "x"},
		"x":                   {".", "x"},
		"https://h/x":         {"https://h/x", ""},
		"s3://key:secret@b/x": {"s3://key:secret@b/x", ""},
	} {
		if place, name := backup.Split(target); place != want[0] || name != want[1] {
			t.Errorf("%s is %q in %q", target, name, place)
		}
	}
	for place, a := range map[string]backup.Access{
		"https://h/x": {}, "s3://key:secret@b/x": {}, "": {}, "s3://": {}, "s3://b": {Endpoint: "ftp://h"},
		"s3://b/p": {Endpoint: "https://user:secret@h"},
	} {
		if err := backup.Check(place, a); !errcode.Is(err, errcode.Invalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s with %+v: %v", place, a, err)
		}
	}
}
