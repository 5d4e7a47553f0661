package debian

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/atomicfile"
)

const (
	maxPackage  = 256 << 20
	fetchLimit  = 10 * time.Minute
	defaultBase = "http://deb.debian.org"
	snapshots   = "http://snapshot.debian.org/archive"
)

// Store keeps packages by content, and fetches those that it does not have.
type Store struct {
	// Dir holds one file for each package, named by its SHA-256.
	Dir string
	// Mirror serves the archives debian and debian-security; empty is
	// http://deb.debian.org. What it serves is believed by its hash alone.
	Mirror string
	// Client is http.DefaultClient if nil.
	Client *http.Client
}

// Get returns the bytes of a package. Debian's mirrors drop a version when the next
// one comes: then the snapshot of the lock's time is asked.
func (s Store) Get(ctx context.Context, l *Lock, p Package) ([]byte, error) {
	file := filepath.Join(s.Dir, p.SHA256)
	if data, err := os.ReadFile(file); err == nil && sum(data) == p.SHA256 {
		return data, nil
	}
	mirror := strings.TrimSuffix(s.Mirror, "/")
	if mirror == "" {
		mirror = defaultBase
	}
	var failed []error
	for _, url := range []string{
		mirror + "/" + p.Archive + "/" + p.Path,
		snapshots + "/" + p.Archive + "/" + l.Taken.UTC().Format("20060102T150405Z") + "/" + p.Path,
	} {
		data, err := s.fetch(ctx, url, maxPackage)
		if err == nil && sum(data) != p.SHA256 {
			err = fmt.Errorf("%s: the content is not that of the lock: SHA-256 %s, want %s", url, sum(data), p.SHA256)
		}
		if err == nil {
			if err := os.MkdirAll(s.Dir, 0o755); err != nil {
				return nil, err
			}
			return data, atomicfile.Write(file, data, 0o644)
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("package %s %s: %w; a copy of the file as %s serves as well", p.Name, p.Version, errors.Join(failed...), file)
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func (s Store) fetch(ctx context.Context, url string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	client := s.Client
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, answer.Status)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: more than %d bytes", url, limit)
	}
	return data, err
}
